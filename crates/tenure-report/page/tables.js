// Everything in figures: totals, what waits and why, two frames compared, the plan of a frame.

const byId = (id) => document.getElementById(id);

/** What is to be said of an object: pairs of a word and a text. */
function describe(app, object) {
  const { history, time, frame } = app;
  const o = history.objects;
  const numberOf = (index) => history.frames.number[Math.max(0, Math.min(index, history.frameCount - 1))];
  const isEvents = history.header.source === "events";
  const when = (clock) => {
    const number = `frame ${count(numberOf(history.frameOf(clock)))}`;
    return isEvents ? `${number}, event ${count(clock)}` : `by ${number}`;
  };
  const block = o.block[object] - 1;
  const pool = block >= 0 ? history.pools[history.blocks.pool[block]] : null;
  const place = pool
    ? `block ${history.blocks.number[block]} of ${pool.kind}, byte ${count(o.offset[object])}`
    : history.strings[o.location[object]];
  const heap = o.heap[object] ? `heap ${o.heap[object] - 1}` : "memory that is not the manager's";
  const created = isEvents ? when(o.created[object]) : `frame ${count(o.frame[object])}`;
  const use = history.lastUse(object, frame);
  const lines = [
    ["name", shown(history.name(object))],
    ["tag", shown(history.tag(object), "(none)")],
    ["kind", `${history.kind(object)}, ${history.strings[o.location[object]]}`],
    ["size", `${bytesText(o.size[object])} (${count(o.size[object])} B)`],
    ["place", `${place}, ${heap}`],
    ["created", created],
  ];
  if (o.padding[object]) lines.splice(4, 0, ["padding", bytesText(o.padding[object])]);
  if (use >= 0) lines.push(["last used", `frame ${count(numberOf(use))}`]);
  const ending = (clock) => (clock === NEVER ? "never" : `${clock <= time ? "" : "later: "}${when(clock)}`);
  if (o.first[object] !== object) lines.push(["moved here", when(o.born[object])]);
  if (o.dropped[object] !== o.end[object]) lines.push(["moved on", ending(o.dropped[object])]);
  lines.push(["dropped", ending(o.end[object])]);
  if (o.dropped[object] <= time && isEvents) {
    lines.push(["released", o.released[object] === NEVER ? "never" : when(o.released[object])]);
  }
  return lines;
}

/** Pairs of a word and a text as a list. */
function descriptionList(lines) {
  return make("dl", {}, ...lines.flatMap(([word, text]) => [
    make("dt", { text: word }),
    make("dd", {}, make("bdi", { text })),
  ]));
}

function drawObject(app) {
  const element = byId("object");
  const { selected, history } = app;
  if (selected < 0) {
    element.replaceChildren(make("p", { className: "dim", text: "Point at a block to see what is there; click to keep it here." }));
    return;
  }
  const list = descriptionList(describe(app, selected));
  const stack = history.objects.backtrace[selected];
  if (stack) list.append(make("dt", { text: "stack" }), make("dd", { className: "stack", text: history.strings[stack - 1] }));
  element.replaceChildren(list);
}

const BYTES = { number: true };

function drawTotals(app) {
  const { history, series, frame } = app;
  const f = history.frames;
  const waited = frame > 0 ? f.waited_ns[frame] - f.waited_ns[frame - 1] : f.waited_ns[frame];
  const made = frame > 0 ? f.driver_allocations[frame] - f.driver_allocations[frame - 1] : f.driver_allocations[frame];
  const live = series.live(frame);
  fillTable(byId("totals"), "All memory", [
    { text: "reserved", ...BYTES }, { text: "live", ...BYTES }, { text: "live of reserved", ...BYTES },
    { text: "waiting for release", ...BYTES }, { text: "live objects", ...BYTES }, { text: "things that wait", ...BYTES },
    { text: "open recordings", ...BYTES }, { text: "driver allocations in this frame", ...BYTES },
    { text: "waited for the GPU", ...BYTES },
  ], [{ cells: [
    exact(f.reserved[frame]), exact(live), share(live, f.reserved[frame]), exact(f.pending_bytes[frame]),
    count(f.live_objects[frame]), count(f.pending_releases[frame]), count(f.open_recordings[frame]), count(made),
    `${(waited / 1e6).toFixed(2)} ms`,
  ] }]);
  drawHeapTotals(app);
  drawPoolTotals(app);
}

/** Bytes in words, with the exact number on demand. */
function exact(bytes) {
  return make("span", { text: bytesText(bytes), title: `${count(bytes)} bytes` });
}

function drawHeapTotals({ history, series, frame }) {
  const present = [...WASTE.keys()].filter((band) => series.present[series.groups.length + band]);
  const heads = [{ text: "heap" }, { text: "live", ...BYTES },
    ...present.map((band) => ({ text: WASTE[band].text, ...BYTES })),
    { text: "reserved", ...BYTES }, { text: "budget", ...BYTES }];
  const rows = history.heaps.map(({ samples }, heap) => {
    const bands = series.heaps[heap];
    const live = series.groups.reduce((sum, _, band) => sum + bands[band][frame], 0);
    const budget = samples.budget[frame] ? exact(samples.budget[frame] - 1) : "not known";
    const waste = present.map((band) => exact(Math.max(0, bands[series.groups.length + band][frame])));
    return { cells: [`${heap}`, exact(live), ...waste, exact(series.reserved[heap][frame]), budget] };
  });
  fillTable(byId("heaps"), "By memory heap", heads, rows);
}

function drawPoolTotals({ history, frame }) {
  const heads = [{ text: "pool" }, { text: "heap", ...BYTES }, { text: "memory type", ...BYTES },
    { text: "capacity", ...BYTES }, { text: "given out", ...BYTES }, { text: "free", ...BYTES },
    { text: "largest free range", ...BYTES }, { text: "alignment and rounding", ...BYTES }, { text: "ranges", ...BYTES }];
  const rows = [];
  for (const pool of history.pools) {
    const { capacity, used, requested, largest_free: largest, allocations } = pool.samples;
    if (!capacity[frame]) continue;
    rows.push({ cells: [pool.kind, `${pool.heap}`, `${pool.memory_type}`, exact(capacity[frame]), exact(used[frame]),
      exact(capacity[frame] - used[frame]), exact(largest[frame]), exact(used[frame] - requested[frame]),
      count(allocations[frame])] });
  }
  fillTable(byId("pools"), "By pool", heads, rows);
}

/** Most rows of a table of objects. */
const MOST_ROWS = 30;

function drawLargest(app) {
  if (!byId("largest-part").open) return;
  const { history } = app;
  const { size } = history.objects;
  const all = app.map.alive.filter((object) => !app.history.hasLeft(object, app.time));
  const objects = [...all].sort((a, b) => size[b] - size[a] || a - b).slice(0, MOST_ROWS);
  fillTable(byId("largest"), `${objects.length} of ${count(all.length)} objects`, [
    { text: "name", name: true }, { text: "tag", name: true }, { text: "kind" }, { text: "size", ...BYTES }, { text: "place" }, { text: "created" },
  ], objects.map((object) => {
    const said = new Map(describe(app, object));
    return {
      choose: () => app.select(object, true),
      cells: [nameElement(history.name(object)), nameElement(history.tag(object), "(none)"), said.get("kind"),
        exact(size[object]), said.get("place"), said.get("created")],
    };
  }));
}

/** Adds up objects that are alike; the largest first. */
function grouped(app, objects, keyOf) {
  const groups = new Map();
  const { size, padding } = app.history.objects;
  for (const object of objects) {
    const key = keyOf(object);
    if (!groups.has(key)) groups.set(key, { object, count: 0, bytes: 0 });
    const group = groups.get(key);
    group.count++;
    group.bytes += size[object] + padding[object];
  }
  return [...groups.values()].sort((a, b) => b.bytes - a.bytes);
}

function drawHolds(app) {
  const { history, frame, time } = app;
  const { dropped, released } = history.objects;
  const waiting = app.map.alive.filter((object) => dropped[object] <= time);
  const pending = history.frames.pending_bytes[frame];
  const text = `${bytesText(pending)} in ${count(history.frames.pending_releases[frame])} things had been dropped, or were left by `
    + "what has moved, at the end of this frame and could not be used again: recordings that are open, or work of the GPU, may still use them.";
  byId("holds-text").textContent = text;
  const holds = [];
  for (let k = upperBound(history.holds.frame, frame - 1); k < history.holds.frame.length && history.holds.frame[k] === frame; k++) {
    holds.push(k);
  }
  const h = history.holds;
  byId("holds").hidden = !holds.length;
  fillTable(byId("holds"), "Who holds", [
    { text: "holder" }, { text: "name", name: true }, { text: "until this submission is complete", ...BYTES },
    { text: "bytes", ...BYTES }, { text: "things", ...BYTES }, { text: "for frames", ...BYTES },
  ], holds.map((k) => ({ cells: [
    nameElement(history.strings[h.holder[k]]), nameElement(history.strings[h.name[k]]), h.serial[k] ? count(h.serial[k] - 1) : "–",
    exact(h.bytes[k]), count(h.count[k]), count(h.age[k]),
  ] })));
  const dropFrame = (object) => Math.min(history.frameOf(dropped[object]), history.frameCount - 1);
  const groups = grouped(app, waiting, (object) =>
    `${dropFrame(object)} ${history.objects.name[object]} ${history.objects.tag[object]} ${history.frameOf(released[object])}`);
  const until = (object) => {
    const end = history.frameOf(released[object]);
    return end < history.frameCount ? `frame ${count(history.frames.number[end])}` : "the end of the data";
  };
  byId("waiting").hidden = history.header.source === "snapshots";
  fillTable(byId("waiting"), `What waits: ${Math.min(groups.length, MOST_ROWS)} of ${count(groups.length)} groups`, [
    { text: "name", name: true }, { text: "tag", name: true }, { text: "objects", ...BYTES }, { text: "bytes", ...BYTES },
    { text: "dropped or left in frame", ...BYTES }, { text: "held for frames so far", ...BYTES }, { text: "released in" },
  ], groups.slice(0, MOST_ROWS).map(({ object, count: objects, bytes }) => ({
    choose: () => app.select(object, true),
    cells: [nameElement(history.name(object)), nameElement(history.tag(object), "(none)"), count(objects), exact(bytes),
      count(history.frames.number[dropFrame(object)]), count(frame - dropFrame(object)), until(object)],
  })));
}

function drawCompared(app) {
  const { history, frame, compare } = app;
  const table = byId("compared");
  table.hidden = compare < 0 || compare === frame;
  if (compare < 0 || compare === frame) {
    byId("compare-text").textContent = "Press c, or the button above, at one frame, and go to another.";
    return;
  }
  const [from, to] = [Math.min(frame, compare), Math.max(frame, compare)];
  const [begin, end] = [history.frames.at[from], history.frames.at[to]];
  const { born, dropped, created, end: ends, size, name, tag, kind } = history.objects;
  const groups = new Map();
  const sums = { new: [0, 0], gone: [0, 0], stayed: [0, 0], never: [0, 0] };
  const last = upperBound(born, end);
  for (let i = 0; i < last; i++) {
    const isBefore = born[i] <= begin && dropped[i] > begin;
    // What has moved between the two is counted where it was at the first.
    const isNew = dropped[i] > end && created[i] > begin;
    if (!isBefore && !isNew) continue;
    const what = isNew ? "new" : ends[i] > end ? "stayed" : "gone";
    const add = (which) => {
      sums[which][0]++;
      sums[which][1] += size[i];
    };
    add(what);
    const isNever = what === "new" && ends[i] === NEVER;
    if (isNever) add("never");
    if (what === "stayed") continue;
    const key = `${name[i]} ${tag[i]} ${kind[i]}`;
    if (!groups.has(key)) groups.set(key, { object: i, new: [0, 0], gone: [0, 0], never: [0, 0] });
    const group = groups.get(key);
    for (const which of isNever ? [what, "never"] : [what]) {
      group[which][0]++;
      group[which][1] += size[i];
    }
  }
  const number = (index) => count(history.frames.number[index]);
  const said = ([objects, bytes]) => `${count(objects)} (${bytesText(bytes)})`;
  byId("compare-text").textContent = `From frame ${number(from)} to frame ${number(to)}: ${said(sums.new)} new, `
    + `of which ${said(sums.never)} are never freed; ${said(sums.gone)} gone; ${said(sums.stayed)} in both.`;
  const weight = (group) => group.new[1] + group.gone[1];
  const rows = [...groups.values()].sort((a, b) => weight(b) - weight(a)).slice(0, MOST_ROWS);
  fillTable(table, `${rows.length} of ${count(groups.size)} groups of the same name, tag and kind`, [
    { text: "name", name: true }, { text: "tag", name: true }, { text: "kind" }, { text: "new", ...BYTES }, { text: "gone", ...BYTES },
    { text: "never freed", ...BYTES }, { text: "change", ...BYTES },
  ], rows.map((group) => {
    const change = group.new[1] - group.gone[1];
    return {
      choose: () => app.select(group.object, true),
      cells: [nameElement(history.name(group.object)), nameElement(history.tag(group.object), "(none)"), history.kind(group.object),
        said(group.new), said(group.gone), said(group.never), `${change < 0 ? "−" : "+"}${bytesText(Math.abs(change))}`],
    };
  }));
}

const PLAN_HEIGHT = 300;

/** The plan of a frame: steps across, bytes up; what shares bytes lies above one another in time. */
function drawPlan(app) {
  const plan = app.history.header.plan;
  byId("plan-part").hidden = !plan;
  if (!plan) return;
  const total = plan.heaps.reduce((a, b) => a + b, 0);
  const apart = plan.resources.reduce((sum, resource) => sum + resource.size, 0);
  byId("plan-text").textContent = `${count(plan.resources.length)} resources of ${bytesText(apart)} together in ${bytesText(total)}; `
    + `no plan needs less than ${bytesText(plan.bound)}.`;
  const holder = byId("plan");
  holder.replaceChildren(...plan.heaps.map((bytes, heap) => {
    const canvas = make("canvas", { role: "img", "aria-label": `Plan of heap ${heap}: ${bytesText(bytes)}` });
    canvas.style.height = `${PLAN_HEIGHT}px`;
    return make("div", { className: "plan-heap" }, canvas);
  }));
  plan.heaps.forEach((bytes, heap) => drawPlannedHeap(app, holder.children[heap].firstChild, plan, heap, Math.max(1, bytes)));
  const rows = [...plan.resources].sort((a, b) => b.size - a.size).slice(0, MOST_ROWS);
  fillTable(byId("plan-table"), `${rows.length} of ${count(plan.resources.length)} resources, the largest first`, [
    { text: "name", name: true }, { text: "heap", ...BYTES }, { text: "first step", ...BYTES }, { text: "last step", ...BYTES },
    { text: "begins at", ...BYTES }, { text: "size", ...BYTES },
  ], rows.map((resource) => ({ cells: [nameElement(resource.name), `${resource.heap}`, count(resource.first), count(resource.end - 1),
    exact(resource.offset), exact(resource.size)] })));
}

function drawPlannedHeap(app, canvas, plan, heap, bytes) {
  const { context, width, height } = fit(canvas);
  const resources = plan.resources.filter((resource) => resource.heap === heap);
  const begin = resources.reduce((low, r) => Math.min(low, r.first), Infinity);
  const end = resources.reduce((high, r) => Math.max(high, r.end), 1);
  const [left, high] = [AXIS_WIDTH, height - AXIS_HEIGHT];
  const x = (step) => left + ((step - begin) / Math.max(1, end - begin)) * (width - left);
  const y = (byte) => high * (1 - byte / bytes);
  context.font = "11px system-ui, sans-serif";
  drawGrid(context, { left, width: width - left }, bytes, y);
  resources.forEach((resource, k) => {
    const box = [x(resource.first), y(resource.offset + resource.size), x(resource.end) - x(resource.first),
      y(resource.offset) - y(resource.offset + resource.size)];
    context.fillStyle = PALETTE[k % PALETTE.length];
    context.fillRect(...box);
    context.strokeStyle = themedOnce.back;
    context.strokeRect(...box);
    if (box[3] > 12 && box[2] > 30) {
      const [red, green, blue] = channels(PALETTE[k % PALETTE.length]);
      context.fillStyle = red * 0.3 + green * 0.6 + blue * 0.1 > 140 ? "#000000" : "#ffffff";
      context.save();
      context.beginPath();
      context.rect(...box);
      context.clip();
      context.fillText(shown(resource.name), box[0] + 4, box[1] + Math.min(14, box[3] / 2 + 4));
      context.restore();
    }
  });
  context.fillStyle = themedOnce.dim;
  const steps = Math.max(1, Math.ceil((end - begin) / Math.max(2, Math.floor(width / 90))));
  // Counted, as adding to a large number may leave it as it is.
  for (let tick = 0; begin + tick * steps < end; tick++) {
    const step = begin + tick * steps;
    context.fillText(shown(plan.passes[step] || `step ${step}`), x(step) + 2, high + 14);
  }
}
