// The charts of memory heaps over time: what lives by tag, waste by cause, reserved, budget.

/** The most tags or kinds that have a colour of their own. */
const MOST_GROUPS = PALETTE.length;

const AXIS_WIDTH = 66;
const AXIS_HEIGHT = 18;

/** The tags or kinds that take most bytes over time, each with a colour; the rest shares one. */
function groupsOf(history, column) {
  const { born, dropped, size } = history.objects;
  const numbers = history.objects[column];
  const weights = new Float64Array(history.strings.length);
  const present = new Uint8Array(history.strings.length);
  for (let i = 0; i < history.count; i++) {
    present[numbers[i]] = 1;
    weights[numbers[i]] += size[i] * (Math.min(dropped[i], history.lastClock) - born[i] + 1);
  }
  const ranked = [...present.keys()].filter((number) => present[number]);
  ranked.sort((a, b) => weights[b] - weights[a]);
  const named = ranked.length > MOST_GROUPS + 1 ? ranked.slice(0, MOST_GROUPS) : ranked;
  const of = new Uint8Array(history.strings.length).fill(named.length);
  named.forEach((number, group) => (of[number] = group));
  const groups = named.map((number, group) => ({
    text: shown(history.strings[number], column === "tag" ? "(no tag)" : "(none)"),
    colour: PALETTE[group] || REST,
  }));
  if (ranked.length > named.length) {
    groups.push({ text: `${count(ranked.length - named.length)} others`, colour: REST });
  }
  return { groups, of };
}

/** The bytes of each heap at the end of each frame, by what they are: bands, from the bottom up. */
class Series {
  constructor(history, column) {
    this.history = history;
    this.column = column;
    const { groups, of } = groupsOf(history, column);
    this.groups = groups;
    this.groupOf = of;
    const live = groups.map((group) => ({ ...group, live: true }));
    this.bands = [...live, ...WASTE];
    const frames = history.frameCount;
    this.heaps = history.heaps.map(() => this.bands.map(() => new Float64Array(frames + 1)));
    this.taken = history.heaps.map(() => new Float64Array(frames + 1));
    this.addObjects();
    this.addSamples();
    this.present = this.bands.map((_, band) => this.heaps.some((bands) => bands[band].some((bytes) => bytes > 0)));
  }

  addObjects() {
    const { history, groups } = this;
    const { born, dropped, released, size, padding } = history.objects;
    const numbers = history.objects[this.column];
    const waiting = groups.length + WASTE.findIndex((band) => band.id === "waiting");
    const padded = groups.length + WASTE.findIndex((band) => band.id === "padding");
    const add = (values, from, to, bytes) => {
      values[from] += bytes;
      values[to] -= bytes;
    };
    for (let i = 0; i < history.count; i++) {
      const heap = history.ownHeap(i);
      if (heap < 0 || heap >= this.heaps.length) continue;
      const bands = this.heaps[heap];
      const from = history.frameOf(born[i]);
      const drop = history.frameOf(dropped[i]);
      const to = history.frameOf(released[i]);
      if (drop > from) add(bands[this.groupOf[numbers[i]]], from, drop, size[i]);
      if (to > drop) add(bands[waiting], drop, to, size[i]);
      if (to > from && padding[i]) add(bands[padded], from, to, padding[i]);
      if (to > from) add(this.taken[heap], from, to, size[i] + padding[i]);
    }
    const sum = (values) => {
      for (let frame = 1; frame < values.length; frame++) values[frame] += values[frame - 1];
    };
    for (const bands of this.heaps) bands.forEach(sum);
    this.taken.forEach(sum);
  }

  /** What the manager says of heaps, less what objects take. */
  addSamples() {
    const { history, groups } = this;
    const at = (id) => groups.length + WASTE.findIndex((band) => band.id === id);
    this.reserved = history.heaps.map(() => new Float64Array(history.frameCount));
    const skipped = this.skippedBytes();
    history.heaps.forEach(({ samples }, heap) => {
      const bands = this.heaps[heap];
      for (let frame = 0; frame < history.frameCount; frame++) {
        const [pools, committed] = [samples.pools[frame], samples.committed[frame]];
        const [used, idle] = [samples.used[frame], samples.idle[frame]];
        bands[at("padding")][frame] += skipped[heap][frame];
        bands[at("own")][frame] = Math.max(0, used + committed - this.taken[heap][frame] - skipped[heap][frame]);
        bands[at("holes")][frame] = Math.max(0, pools - used - idle);
        bands[at("idle")][frame] = idle;
        bands[at("pages")][frame] = samples.pages[frame];
        bands[at("transient")][frame] = samples.transient[frame];
        this.reserved[heap][frame] = pools + committed + samples.pages[frame] + samples.transient[frame];
      }
    });
  }

  /** Bytes of each heap that pools have skipped in front of what they have given out, for its alignment. */
  skippedBytes() {
    const { history } = this;
    const sums = history.heaps.map(() => new Float64Array(history.frameCount));
    for (const pool of history.pools) {
      const sum = sums[pool.heap];
      if (pool.holds_blocks || !sum) continue;
      pool.samples.alignment_waste.forEach((bytes, frame) => (sum[frame] += bytes));
    }
    return sums;
  }

  /** Bytes of a band at the end of a frame, in all heaps. */
  total(band, frame) {
    return this.heaps.reduce((sum, bands) => sum + bands[band][frame], 0);
  }

  /** Bytes that live at the end of a frame, in all heaps. */
  live(frame) {
    return this.groups.reduce((sum, _, band) => sum + this.total(band, frame), 0);
  }

  /** Bytes reserved at the end of a frame, in all heaps. */
  totalReserved(frame) {
    return this.reserved.reduce((sum, values) => sum + values[frame], 0);
  }
}

/** For each pixel the frame of its frames that has most reserved. */
function framesOfPixels(reserved, [from, to], width) {
  const frames = new Uint32Array(width);
  for (let x = 0; x < width; x++) {
    const begin = Math.min(to - 1, Math.floor(from + (x * (to - from)) / width));
    const end = Math.max(begin + 1, Math.floor(from + ((x + 1) * (to - from)) / width));
    let best = begin;
    for (let frame = begin + 1; frame < end; frame++) {
      if (reserved[frame] > reserved[best]) best = frame;
    }
    frames[x] = best;
  }
  return frames;
}

/** A chart over the frames that are shown, with a line at the one that is chosen. */
class TimeChart {
  /** `left`: the width of the text at the left. `heading` is above the chart. */
  constructor(app, parent, left, ...heading) {
    this.app = app;
    this.left = left;
    this.base = make("canvas", { role: "img" });
    this.cursor = make("canvas", { "aria-hidden": "true" });
    this.layers = make("div", { className: "layers" }, this.base, this.cursor);
    parent.append(make("div", { className: "chart" }, ...heading, this.layers));
    this.listen();
  }

  listen() {
    const frameAt = (event) => {
      const [from, to] = this.app.range;
      const { left, width } = this.layers.getBoundingClientRect();
      const x = (event.clientX - left - this.left) / (width - this.left);
      return Math.max(from, Math.min(to - 1, Math.floor(from + x * (to - from))));
    };
    this.layers.addEventListener("pointerdown", (event) => {
      this.layers.setPointerCapture(event.pointerId);
      this.app.setFrame(frameAt(event));
    });
    this.layers.addEventListener("pointermove", (event) => {
      if (event.buttons & 1) this.app.setFrame(frameAt(event));
      this.tip(event, frameAt(event));
    });
    this.layers.addEventListener("pointerleave", () => this.app.hideTip());
    this.layers.addEventListener("dblclick", () => this.app.setRange(0, this.app.history.frameCount));
    this.layers.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.shiftKey) return;
      event.preventDefault();
      this.app.zoom((event.deltaY || event.deltaX) > 0 ? 1.4 : 1 / 1.4, frameAt(event));
    }, { passive: false });
  }

  /** An empty canvas, and the place of the chart in it. */
  fit() {
    const { context, width, height } = fit(this.base);
    context.font = "11px system-ui, sans-serif";
    this.plot = { left: this.left, width: width - this.left, height: height - AXIS_HEIGHT };
    return { context, plot: this.plot };
  }

  /** Where a frame is across; `null` if it is not shown. */
  middleOf(frame) {
    const [from, to] = this.app.range;
    if (frame < from || frame >= to) return null;
    return this.plot.left + ((frame + 0.5 - from) / (to - from)) * this.plot.width;
  }

  drawLine(context, plot, frames, y, colour, dash) {
    context.beginPath();
    for (let x = 0; x < frames.length; x++) {
      context.lineTo(plot.left + x, y(frames[x]));
      context.lineTo(plot.left + x + 1, y(frames[x]));
    }
    context.setLineDash(dash);
    context.strokeStyle = context.fillStyle = colour;
    context.lineWidth = 1.2;
    context.stroke();
    context.setLineDash([]);
  }

  drawFrames(context, plot, [from, to]) {
    context.fillStyle = themed("dim");
    const numbers = this.app.history.frames.number;
    const ticks = Math.max(2, Math.min(8, Math.floor(plot.width / 110), to - from));
    for (let k = 0; k < ticks; k++) {
      const frame = Math.min(to - 1, Math.floor(from + (k * (to - from)) / ticks));
      const x = plot.left + ((frame - from) / (to - from)) * plot.width;
      context.fillRect(x, plot.height, 1, 4);
      context.fillText(k === 0 ? `frame ${count(numbers[frame])}` : count(numbers[frame]), x + 3, plot.height + 14);
    }
  }

  /** The line at the frame that is shown, and at the one that it is compared with. */
  drawCursor() {
    if (!this.plot) return;
    const { context } = fit(this.cursor);
    const line = (frame, colour, width) => {
      const x = this.middleOf(frame);
      if (x === null) return;
      context.fillStyle = colour;
      context.fillRect(x - width / 2, 0, width, this.plot.height);
    };
    if (this.app.compare >= 0) line(this.app.compare, themed("mark"), 2);
    line(this.app.frame, themed("select"), 2);
  }
}

/** Lines at round numbers of bytes. */
function drawGrid(context, plot, top, y) {
  context.textAlign = "right";
  const step = niceStep(top);
  for (let bytes = 0; bytes <= top; bytes += step) {
    context.fillStyle = themed("line");
    context.fillRect(plot.left, Math.round(y(bytes)), plot.width, 1);
    context.fillStyle = themed("dim");
    context.fillText(bytesText(bytes), plot.left - 6, Math.max(10, y(bytes) + 4));
  }
  context.textAlign = "left";
}

/** One heap's chart. */
class Chart extends TimeChart {
  constructor(app, heap, parent) {
    const { size, device_local: isLocal } = app.history.heaps[heap];
    const kind = isLocal === null ? "" : isLocal ? ", local to the GPU" : ", memory of the system";
    const note = make("span", { className: "dim", text: `${kind}${size ? `, ${bytesText(size)}` : ""}` });
    const more = make("span", { className: "dim" });
    super(app, parent, AXIS_WIDTH, make("h3", {}, `Heap ${heap}`, note, more));
    this.heap = heap;
    this.note = more;
  }

  tip(event, frame) {
    const { history, series } = this.app;
    const bands = series.heaps[this.heap];
    const live = series.groups.reduce((sum, _, band) => sum + bands[band][frame], 0);
    this.app.showTip(event, [
      ["frame", count(history.frames.number[frame])],
      ["reserved", bytesText(series.reserved[this.heap][frame])],
      ["live", bytesText(live)],
      ["waiting", bytesText(bands[series.groups.length + 1][frame])],
    ]);
  }

  /** The whole chart, for the frames that are shown. */
  draw() {
    const { series, range, history } = this.app;
    const { context, plot } = this.fit();
    const pixels = Math.max(1, Math.floor(plot.width));
    const reserved = series.reserved[this.heap];
    const frames = framesOfPixels(reserved, range, pixels);
    const most = frames.reduce((most, frame) => Math.max(most, reserved[frame]), 1);
    const budget = history.heaps[this.heap].samples.budget;
    const lowest = frames.reduce((low, frame) => Math.min(low, budget[frame] || Infinity), Infinity) - 1;
    const hasBudget = lowest < most * 1.6;
    const top = Math.max(most, hasBudget ? lowest : 0) * 1.06;
    this.note.textContent = Number.isFinite(lowest)
      ? hasBudget ? "" : `; budget ${bytesText(lowest)}, far above`
      : "; budget not known";
    const y = (bytes) => plot.height * (1 - bytes / top);
    drawGrid(context, plot, top, y);
    this.drawBands(context, plot, frames, y);
    this.drawLine(context, plot, frames, (frame) => y(reserved[frame]), themed("text"), []);
    if (hasBudget) {
      this.drawLine(context, plot, frames, (frame) => y(budget[frame] - 1), themed("mark"), [6, 4]);
      context.fillText("budget", plot.left + 4, y(lowest) - 4);
    }
    this.drawFrames(context, plot, range);
    const last = history.frames.number[range[1] - 1];
    this.base.setAttribute("aria-label",
      `Heap ${this.heap}, frames ${history.frames.number[range[0]]} to ${last}: ${bytesText(most)} reserved at most`);
    this.drawCursor();
  }

  drawBands(context, plot, frames, y) {
    const { series } = this.app;
    const bands = series.heaps[this.heap];
    const low = new Float64Array(frames.length);
    const high = new Float64Array(frames.length);
    series.bands.forEach((band, number) => {
      if (!series.present[number]) return;
      for (let x = 0; x < frames.length; x++) high[x] = low[x] + Math.max(0, bands[number][frames[x]]);
      context.beginPath();
      for (let x = 0; x < frames.length; x++) {
        context.lineTo(plot.left + x, y(high[x]));
        context.lineTo(plot.left + x + 1, y(high[x]));
      }
      for (let x = frames.length - 1; x >= 0; x--) {
        context.lineTo(plot.left + x + 1, y(low[x]));
        context.lineTo(plot.left + x, y(low[x]));
      }
      context.fillStyle = patternOf(context, band.colour, band.pattern);
      context.fill();
      low.set(high);
    });
  }
}

/** All frames in a strip, with the part that the charts show. */
class Overview {
  constructor(app, canvas) {
    this.app = app;
    this.canvas = canvas;
    this.begin = -1;
    const frameAt = (event) => {
      const { left, width } = canvas.getBoundingClientRect();
      const frames = app.history.frameCount;
      return Math.max(0, Math.min(frames - 1, Math.floor(((event.clientX - left) / width) * frames)));
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.begin = frameAt(event);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (this.begin < 0) return;
      const end = frameAt(event);
      if (Math.abs(end - this.begin) >= 1) {
        app.setRange(Math.min(this.begin, end), Math.max(this.begin, end) + 1);
      }
    });
    canvas.addEventListener("pointerup", (event) => {
      if (this.begin >= 0 && frameAt(event) === this.begin) app.setFrame(this.begin);
      this.begin = -1;
    });
    canvas.addEventListener("pointercancel", () => (this.begin = -1));
  }

  draw() {
    const { series, range, history, frame } = this.app;
    const { context, width, height } = fit(this.canvas);
    const frames = history.frameCount;
    if (!this.sums || this.sums.length !== frames) {
      this.sums = Float64Array.from({ length: frames }, (_, i) => series.totalReserved(i));
    }
    const pixels = Math.max(1, Math.floor(width));
    const shown = framesOfPixels(this.sums, [0, frames], pixels);
    const most = shown.reduce((most, i) => Math.max(most, this.sums[i]), 1);
    context.fillStyle = themed("panel");
    context.fillRect(0, 0, width, height);
    for (let x = 0; x < pixels; x++) {
      const high = (this.sums[shown[x]] / most) * (height - 4);
      context.fillStyle = themedOnce.line;
      context.fillRect(x, height - high, 1, high);
      const live = (series.live(shown[x]) / most) * (height - 4);
      context.fillStyle = themedOnce.accent;
      context.fillRect(x, height - live, 1, live);
    }
    const x = (i) => (i / frames) * width;
    context.fillStyle = themedOnce.shade;
    context.fillRect(0, 0, x(range[0]), height);
    context.fillRect(x(range[1]), 0, width - x(range[1]), height);
    context.strokeStyle = themedOnce.text;
    context.strokeRect(x(range[0]) + 0.5, 0.5, Math.max(2, x(range[1]) - x(range[0]) - 1), height - 1);
    context.fillStyle = themedOnce.text;
    context.fillRect(x(frame + 0.5) - 1, 0, 2, height);
  }
}

/** Colours of the theme that are asked for often. */
const themedOnce = {};

function readTheme() {
  for (const name of ["line", "accent", "text", "free", "back", "dim", "mark", "select", "panel"]) {
    themedOnce[name] = themed(name);
  }
  const [red, green, blue] = channels(themedOnce.back);
  themedOnce.shade = `rgb(${red} ${green} ${blue} / 65%)`;
}

/** What the colours of the charts mean, with bytes at the frame that is shown. */
function drawLegend(app) {
  const { series, frame } = app;
  const reserved = series.totalReserved(frame);
  const rows = [];
  series.bands.forEach((band, number) => {
    if (!series.present[number]) return;
    const bytes = Math.max(0, series.total(number, frame));
    const name = make("span", {}, swatch(band.colour, band.pattern), make("bdi", { text: band.text }));
    rows.push({ cells: [name, bytesText(bytes), share(bytes, reserved)] });
  });
  rows.reverse();
  rows.unshift({ cells: ["reserved", bytesText(reserved), share(reserved, reserved)] });
  const heads = [{ text: "memory", name: true }, { text: "bytes", number: true }, { text: "share", number: true }];
  const columns = app.series.column === "tag" ? "by tag" : "by kind";
  fillTable(document.getElementById("legend").firstChild, `All heaps, from the top down; live ${columns}`, heads, rows);
}
