// The memory that a recorded program took itself, beside that of the replay: over time, by memory type, and in counts.

/** The most rows of tenure's largest blocks: as many as of the program's. */
const MOST_BLOCK_ROWS = 24;

const ROW = 15;
const ROW_GAP = 3;
const ROW_TITLE = 28;
const LABEL_WIDTH = 142;

/** The program and the replay. */
const OWNERS = { program: "#0072b2", replay: "#e69f00" };
const HOLES = "#9aa1ac";

/** Names of the bits of a memory type. */
const TYPE_FLAGS = ["local to the GPU", "mapped", "coherent", "cached", "lazily allocated"];

function typeText({ memory_type: number, flags }) {
  if (number === null) return "unknown";
  const words = TYPE_FLAGS.filter((_, bit) => (flags >> bit) & 1);
  return `${number}${words.length ? `: ${words.join(", ")}` : ""}`;
}

/** A row's bytes at the end of each frame, from its changes. */
class Steps {
  constructor(columns, from, to) {
    for (const name of ["frame", "reserved", "bound", "hole"]) this[name] = columns[`own.${name}`].subarray(from, to);
    this.most = this.reserved.reduce((most, bytes) => Math.max(most, bytes), 0);
  }

  at(frame) {
    const k = upperBound(this.frame, frame) - 1;
    return k < 0 ? [0, 0, 0] : [this.reserved[k], this.bound[k], this.hole[k]];
  }
}

/** What the page shows of the program's own memory; `null` without any. */
function ownMemory(app) {
  const { history } = app;
  const { own } = history.header;
  byId("own-part").hidden = !own;
  if (!own) return null;
  const numbers = history.columns["own.row"];
  const rows = own.rows.map((row, number) => {
    const steps = new Steps(history.columns, upperBound(numbers, number - 1), upperBound(numbers, number));
    return { ...row, most: steps.most, at: (frame) => steps.at(frame) };
  });
  const peaks = history.frames.peak_reserved;
  const last = peaks[history.frameCount - 1];
  return {
    ...own,
    all: rows[0],
    rows: rows.slice(1),
    totals: Float64Array.from({ length: history.frameCount }, (_, frame) => rows[0].at(frame)[0]),
    replay: replayRows(app),
    replayPeak: { bytes: last, frame: peaks.findIndex((bytes) => bytes === last) },
  };
}

/** The largest blocks of the replay, where those of a pool and size after one another share a row, and the sum of everything else. */
function replayRows({ history, series }) {
  const { blocks, frameCount: frames } = history;
  const [from, to] = ["born", "gone"].map((end) => (block) => history.frameOf(blocks[end][block]));
  const chosen = [...blocks.born.keys()].filter((block) => !history.pools[blocks.pool[block]].holds_blocks && to(block) > from(block));
  chosen.sort((a, b) => blocks.size[b] - blocks.size[a] || blocks.born[a] - blocks.born[b] || a - b);
  const rows = [];
  const rowOf = new Map();
  for (const block of chosen) {
    const [pool, size] = [blocks.pool[block], blocks.size[block]];
    let row = rows.find((row) => row.pool === pool && row.size === size && row.to <= from(block));
    if (!row && rows.length === MOST_BLOCK_ROWS) continue;
    if (!row) rows.push(row = { pool, size, most: size, blocks: 0, kind: history.pools[pool].kind, sums: [0, 1].map(() => new Float64Array(frames + 1)) });
    row.blocks++;
    row.to = to(block);
    row.sums[0][from(block)] += size;
    row.sums[0][to(block)] -= size;
    rowOf.set(block, row);
  }
  rows.sort((a, b) => a.pool - b.pool);
  const { block, born, released, size, padding } = history.objects;
  for (let i = 0; i < history.count; i++) {
    const row = rowOf.get(block[i] - 1);
    if (!row) continue;
    row.sums[1][history.frameOf(born[i])] += size[i] + padding[i];
    row.sums[1][history.frameOf(released[i])] -= size[i] + padding[i];
  }
  for (const row of rows) {
    for (const sum of row.sums) for (let frame = 1; frame < frames; frame++) sum[frame] += sum[frame - 1];
    row.at = (frame) => [row.sums[0][frame], row.sums[1][frame], 0];
  }
  const rest = Array.from({ length: frames }, (_, frame) => {
    const shown = rows.reduce((sum, row) => row.at(frame).map((bytes, k) => sum[k] + bytes), [0, 0, 0]);
    const taken = series.taken.reduce((sum, values) => sum + values[frame], 0);
    const reserved = Math.max(0, history.frames.reserved[frame] - shown[0]);
    return [reserved, Math.min(reserved, Math.max(0, taken - shown[1])), 0];
  });
  const most = rest.reduce((most, [reserved]) => Math.max(most, reserved), 0);
  if (most > 0) rows.push({ size: 0, blocks: 0, kind: "everything else", most, at: (frame) => rest[frame] });
  return rows;
}

/** The bytes of the program and of the replay over time. */
class OwnChart extends TimeChart {
  constructor(app, parent) {
    super(app, parent, LABEL_WIDTH);
  }

  tip(event, frame) {
    const { history, own } = this.app;
    const [reserved, bound] = own.all.at(frame);
    this.app.showTip(event, [
      ["frame", count(history.frames.number[frame])],
      ["program", bytesText(reserved)],
      ["with resources", `${bytesText(bound)}, ${share(bound, reserved)}`],
      ["tenure", bytesText(history.frames.reserved[frame])],
    ]);
  }

  draw() {
    const { app } = this;
    const { history, own, range } = app;
    const { context, plot } = this.fit();
    const frames = framesOfPixels(own.totals, range, Math.max(1, Math.floor(plot.width)));
    const replayed = framesOfPixels(history.frames.reserved, range, frames.length);
    const top = Math.max(1, own.peak_bytes, own.replayPeak.bytes) * 1.15;
    const y = (bytes) => plot.height * (1 - bytes / top);
    drawGrid(context, plot, top, y);
    context.fillStyle = `${OWNERS.program}77`;
    frames.forEach((frame, x) => {
      const high = y(own.all.at(frame)[1]);
      context.fillRect(plot.left + x, high, 1, plot.height - high);
    });
    this.drawLine(context, plot, replayed, (frame) => y(history.frames.reserved[frame]), OWNERS.replay, []);
    this.drawLine(context, plot, frames, (frame) => y(own.totals[frame]), OWNERS.program, []);
    this.drawPeak(context, plot, own.replayPeak.frame, y(own.replayPeak.bytes), "replay", own.replayPeak.bytes);
    this.drawPeak(context, plot, own.peak_frame, y(own.peak_bytes), "program", own.peak_bytes);
    this.drawFrames(context, plot, range);
    this.base.setAttribute("aria-label", byId("own-text").textContent);
    this.drawCursor();
  }

  drawPeak(context, plot, frame, y, owner, bytes) {
    const x = this.middleOf(frame);
    if (x === null) return;
    context.fillStyle = OWNERS[owner];
    context.beginPath();
    context.moveTo(x - 5, y - 8);
    context.lineTo(x + 5, y - 8);
    context.lineTo(x, y);
    context.fill();
    context.fillStyle = themedOnce.text;
    const text = `${owner === "program" ? "program" : "tenure"}: ${bytesText(bytes)}`;
    const isLeft = x + 10 + context.measureText(text).width > plot.left + plot.width;
    context.textAlign = isLeft ? "right" : "left";
    context.fillText(text, isLeft ? x - 8 : x + 8, y - 2);
    context.textAlign = "left";
  }
}

/** A row for each block over time. */
class OwnRows extends TimeChart {
  constructor(app, parent) {
    super(app, parent, LABEL_WIDTH);
    const { own } = app;
    const of = (number) => `${count(number)} block${number === 1 ? "" : "s"}`;
    this.lines = [
      { title: `The program: ${of(own.allocations)}, ${bytesText(own.peak_bytes)} at the peak`, peak: own.peak_frame },
      ...own.rows.map((row) => ({ row, owner: "program", label: OwnRows.label(row) })),
      { title: `Tenure, in this replay: ${bytesText(own.replayPeak.bytes)} at the peak`, peak: own.replayPeak.frame },
      ...own.replay.map((row) => ({ row, owner: "replay", label: OwnRows.label(row) })),
    ];
    let y = 0;
    for (const line of this.lines) {
      line.y = y;
      y += line.title ? ROW_TITLE : ROW + ROW_GAP;
    }
    this.layers.style.height = `${y + AXIS_HEIGHT}px`;
  }

  static label({ size, blocks, kind, memory_type: number }) {
    const what = kind ?? (number === null ? "type unknown" : `type ${number}`);
    const sizes = size ? `${blocks > 1 ? `${count(blocks)} × ` : ""}${bytesText(size)}` : blocks ? `${count(blocks)} smaller` : "";
    return `${sizes}${sizes ? ", " : ""}${what}`;
  }

  tip(event, frame) {
    const y = event.clientY - this.layers.getBoundingClientRect().top;
    const line = this.lines.findLast((line) => line.y <= y);
    if (!line || line.title) return void this.app.hideTip();
    const { row, owner } = line;
    const [reserved, bound, hole] = row.at(frame);
    const type = this.app.own.types.find(({ memory_type: number }) => number === row.memory_type) || row;
    this.app.showTip(event, [
      ["frame", count(this.app.history.frames.number[frame])],
      owner === "program" ? ["memory type", typeText(type)] : ["pool", row.kind],
      ["reserved", bytesText(reserved)],
      ["with resources", `${bytesText(bound)}, ${share(bound, reserved)}`],
      ...(owner === "program" && row.size ? [["largest hole", bytesText(hole)]] : []),
    ]);
  }

  draw() {
    const { history, own, range } = this.app;
    const { context, plot } = this.fit();
    const pixels = Math.max(1, Math.floor(plot.width));
    const frames = {
      program: framesOfPixels(own.totals, range, pixels),
      replay: framesOfPixels(history.frames.reserved, range, pixels),
    };
    this.lines.forEach((line, index) => {
      if (line.title) return void this.drawTitle(context, plot, line, index);
      context.save();
      context.beginPath();
      context.rect(0, line.y, plot.left - 6, ROW);
      context.clip();
      context.fillStyle = themedOnce.dim;
      context.fillText(line.label, 0, line.y + ROW - 4);
      context.restore();
      this.drawRow(context, plot, line, frames[line.owner]);
    });
    this.drawFrames(context, plot, range);
    this.base.setAttribute("aria-label", this.lines.filter(({ title }) => title).map(({ title }) => title).join("; "));
    this.drawCursor();
  }

  drawTitle(context, plot, { title, y, peak }, index) {
    context.fillStyle = themedOnce.text;
    context.font = "bold 11px system-ui, sans-serif";
    context.fillText(title, 0, y + 15);
    context.font = "11px system-ui, sans-serif";
    const next = this.lines.find((line, after) => after > index && line.title);
    const x = this.middleOf(peak);
    if (x === null) return;
    context.fillStyle = themedOnce.mark;
    context.beginPath();
    context.moveTo(x - 4, y + ROW_TITLE - 7);
    context.lineTo(x + 4, y + ROW_TITLE - 7);
    context.lineTo(x, y + ROW_TITLE);
    context.fill();
    context.fillRect(x - 0.5, y + ROW_TITLE, 1, (next ? next.y : plot.height) - y - ROW_TITLE - ROW_GAP);
  }

  /** Bound bytes from below, the largest hole from above, other holes between. Equal pixels are one bar. */
  drawRow(context, plot, { row, owner, y }, frames) {
    let begin = 0;
    for (let x = 1; x <= frames.length; x++) {
      const bytes = row.at(frames[begin]);
      if (x < frames.length && row.at(frames[x]).every((value, k) => value === bytes[k])) continue;
      const [reserved, bound, hole] = bytes.map((value) => (row.most ? (value / row.most) * ROW : 0));
      const bar = (colour, from, high) => {
        context.fillStyle = colour;
        context.fillRect(plot.left + begin, y + ROW - from - high, x - begin, high);
      };
      if (reserved > 0) {
        bar(owner === "program" && row.size ? HOLES : themedOnce.free, 0, reserved);
        bar(themedOnce.free, reserved - hole, hole);
        bar(OWNERS[owner], 0, bound > 0 ? Math.max(1, bound) : 0);
      }
      begin = x;
    }
  }
}

/** The parts that do not depend on the frame. */
function drawOwn(app) {
  const { own, history } = app;
  const number = (frame) => count(history.frames.number[Math.min(frame, history.frameCount - 1)]);
  // Some drivers have no limit.
  const most = own.most_allocations === null || own.most_allocations >= 2 ** 32 - 1 ? "" : ` (the device supports ${count(own.most_allocations)})`;
  byId("own-text").textContent = `By itself the program reserved ${bytesText(own.peak_bytes)} at its peak, in frame ${number(own.peak_frame)}, `
    + `with resources on ${bytesText(own.bound_at_peak_bytes)}. Tenure, in this replay, reserved ${bytesText(own.replayPeak.bytes)} at its peak, `
    + `in frame ${number(own.replayPeak.frame)}. The program allocated ${count(own.allocations)} blocks, at most ${count(own.peak_blocks)} at once${most}.`;
  const sample = (colour, text) => make("span", {}, swatch(colour), text);
  byId("own-legend").replaceChildren(
    sample(OWNERS.program, "the program: reserved (line), with resources (area, bars)"),
    sample(OWNERS.replay, "tenure"),
    sample(themedOnce.free, "empty; of a block of the program its largest hole"),
    sample(HOLES, "its other holes"),
    make("span", { text: "▼ peak, also within a frame; bars and lines: at the ends of frames" }),
  );
  drawOwnTypes(own);
  drawOwnCalls(own);
  drawFindings(own);
  drawAlive(own);
}

function drawOwnTypes({ types }) {
  byId("own-types").hidden = !types.length;
  const cells = (name, found) => {
    const empty = Math.max(0, found.reserved_bytes - found.bound_bytes);
    return { cells: [name, count(found.blocks), exact(found.reserved_bytes), exact(found.bound_bytes), exact(empty),
      share(empty, found.reserved_bytes), exact(found.largest_hole_bytes)] };
  };
  const rows = types.map((found) => cells(typeText(found), found));
  const sum = (name) => types.reduce((sum, found) => sum + found[name], 0);
  const names = ["blocks", "reserved_bytes", "bound_bytes"];
  const all = Object.fromEntries(names.map((name) => [name, sum(name)]));
  all.largest_hole_bytes = types.reduce((most, found) => Math.max(most, found.largest_hole_bytes), 0);
  if (types.length > 1) rows.push(cells("all", all));
  fillTable(byId("own-types"), "The program's blocks at its peak, by memory type", [
    { text: "memory type" }, { text: "blocks", ...BYTES }, { text: "reserved", ...BYTES }, { text: "with resources", ...BYTES },
    { text: "empty", ...BYTES }, { text: "empty of reserved", ...BYTES }, { text: "largest hole", ...BYTES },
  ], rows);
}

function drawOwnCalls({ phases }) {
  const calls = [["allocations", "allocations"], ["frees", "frees"], ["imports", "imports of memory"], ["maps", "maps"],
    ["unmaps", "unmaps"], ["created", "resources created"], ["destroyed", "resources destroyed"],
    ["short_lived", "of these at most two frames old"]];
  const rate = (calls, frames) => {
    if (!frames || !calls) return frames ? "0" : "–";
    return calls * 100 < frames ? "< 0.01" : (calls / frames).toFixed(calls < 10 * frames ? 2 : 0);
  };
  const rows = calls.filter(([name]) => phases.some((phase) => phase[name])).map(([name, text]) => ({
    cells: [text, ...phases.flatMap((phase, k) => {
      const total = count(phase[name]);
      return k < 2 ? [total, rate(phase[name], phase.frames)] : [total];
    })],
  }));
  byId("own-calls").hidden = !rows.length;
  fillTable(byId("own-calls"), "Calls of the program", [
    { text: "call" },
    { text: `first ${count(phases[0].frames)} frames`, ...BYTES }, { text: "per frame", ...BYTES },
    { text: `last ${count(phases[1].frames)} frames`, ...BYTES }, { text: "per frame", ...BYTES },
    { text: "after the last frame", ...BYTES },
  ], rows);
}

function drawFindings(own) {
  const counted = (number) => ({ count: number, bytes: null });
  const rows = [
    [own.ignored_wishes, "resources in shared blocks that the driver prefers alone"],
    [own.needless_dedicated, "resources alone in their memory that the driver would share"],
    [own.never_bound, "blocks that never held a resource"],
    [counted(own.mapped_again), `blocks mapped more than once, one of them ${count(own.most_maps)} times`],
    [counted(own.refused), "allocations that the driver refused"],
    [counted(own.aliases), "resources on the bytes of others, counted once"],
    [counted(own.imported), "resources in imported memory, not counted"],
    [counted(own.sparse), "reserved (sparse) resources, not counted"],
    [own.large_buffers, "buffers of 1 MiB or more, at the peak: the recording does not show how a program divides them itself"],
  ].filter(([sum]) => sum.count > 0);
  byId("own-findings").hidden = !rows.length;
  fillTable(byId("own-findings"), "Notable", [{ text: "number", ...BYTES }, { text: "bytes", ...BYTES }, { text: "" }],
    rows.map(([sum, text]) => ({ cells: [count(sum.count), sum.bytes === null ? "" : exact(sum.bytes), text] })));
}

function drawAlive({ alive, alive_resources: resources, alive_blocks: blocks, is_complete: isComplete }) {
  byId("own-alive").hidden = !alive.length;
  byId("own-alive-text").textContent = !alive.length && !blocks.count ? ""
    : `${isComplete ? "Never destroyed" : "Alive at the end of the recording, which ends before the program destroyed its device"}: `
      + `${count(resources.count)} resources of ${bytesText(resources.bytes)}, and ${count(blocks.count)} blocks of ${bytesText(blocks.bytes)}.`;
  fillTable(byId("own-alive"), "The largest of these resources", [
    { text: "name", name: true }, { text: "kind" }, { text: "number", ...BYTES }, { text: "bytes", ...BYTES },
  ], alive.map(({ name, shape, sum }) => ({ cells: [nameElement(name ?? ""), shape, count(sum.count), exact(sum.bytes)] })));
}
