//! A figure for each peer and each workload.

use comfy_table::Table;

use crate::table::{figure, row, table};

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
    fn has_cells(&self) -> bool {
        self.cells.iter().any(Option::is_some)
    }

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
        self.rows.iter().any(Row::has_cells)
    }

    /// As a table, without the rows that have nothing.
    pub(super) fn table(&self, workloads: &[String]) -> Table {
        let over = self.reference.map(|name| format!("/ {name} (geometric mean)"));
        let workloads = workloads.iter().map(String::as_str);
        let header: Vec<_> = ["peer"].into_iter().chain(workloads).chain(over.as_deref()).collect();
        let rows = self.rows.iter().filter(|row| row.has_cells()).map(|row| {
            let cells = row.cells.iter().map(|cell| figure(*cell, self.decimals));
            let last = self.reference.map(|_| figure(self.ratio(row), 3));
            row![row.peer].into_iter().chain(cells).chain(last).collect()
        });
        table(&header, rows)
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
