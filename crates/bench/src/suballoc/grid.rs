//! A figure for each peer and each workload.

use comfy_table::{Table, presets};
use serde_json::{Value, json};

/// A figure for each peer and each workload.
pub(super) struct Grid {
    pub(super) title: &'static str,
    /// Name of the peer that the others are compared with.
    pub(super) reference: Option<&'static str>,
    pub(super) decimals: usize,
    pub(super) rows: Vec<Row>,
}

/// The figures of one peer, one for each workload.
pub(super) struct Row {
    pub(super) peer: &'static str,
    pub(super) cells: Vec<Option<f64>>,
}

impl Row {
    /// Each cell over that of another row.
    pub(super) fn over(&self, other: &Self) -> Vec<Option<f64>> {
        let cells = self.cells.iter().zip(&other.cells);
        cells.map(|(cell, of)| Some((*cell)? / (*of)?)).collect()
    }
}

/// The geometric mean of the values that exist; `None` without any.
pub(super) fn geometric_mean(ratios: &[Option<f64>]) -> Option<f64> {
    let logs: Vec<f64> = ratios.iter().flatten().map(|ratio| ratio.ln()).collect();
    let mean = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
    (!logs.is_empty()).then_some(mean)
}

impl Grid {
    /// The row of a peer.
    pub(super) fn row(&self, peer: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.peer == peer)
    }

    /// A row over the reference: the geometric mean of the cells that both have.
    pub(super) fn ratio(&self, row: &Row) -> Option<f64> {
        geometric_mean(&row.over(self.row(self.reference?)?))
    }

    /// Whether it has any figures.
    pub(super) fn has_cells(&self) -> bool {
        self.rows.iter().any(|row| row.cells.iter().any(Option::is_some))
    }

    /// As a table, without the rows that have nothing.
    pub(super) fn table(&self, workloads: &[String]) -> Table {
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN);
        let over = self.reference.map(|name| format!("/ {name} (geometric mean)"));
        table.set_header(std::iter::once("peer".to_owned()).chain(workloads.iter().cloned()).chain(over));
        for row in self.rows.iter().filter(|row| row.cells.iter().any(Option::is_some)) {
            let decimals = self.decimals;
            let figure = |cell: &Option<f64>| cell.map_or("–".to_owned(), |it| format!("{it:.decimals$}"));
            let ratio = || self.ratio(row).map_or("–".to_owned(), |ratio| format!("{ratio:.3}"));
            let last = self.reference.map(|_| ratio());
            let cells = row.cells.iter().map(figure);
            table.add_row(std::iter::once(row.peer.to_owned()).chain(cells).chain(last));
        }
        table
    }

    /// As JSON.
    pub(super) fn to_json(&self, workloads: &[String]) -> Value {
        let rows = self.rows.iter().map(|row| {
            let cells = workloads.iter().zip(&row.cells);
            let cells = cells.map(|(name, cell)| (name.clone(), json!(cell)));
            (row.peer.to_owned(), Value::Object(cells.collect()))
        });
        json!({ "title": self.title, "reference": self.reference, "peers": Value::Object(rows.collect()) })
    }
}

#[cfg(test)]
mod tests {
    use super::geometric_mean;

    #[test]
    fn the_geometric_mean_is_of_what_is_there() {
        assert_eq!(geometric_mean(&[]), None);
        assert_eq!(geometric_mean(&[None]), None);
        assert!(geometric_mean(&[Some(2.0), None, Some(8.0)]).is_some_and(|mean| (mean - 4.0).abs() < 1e-9));
    }
}
