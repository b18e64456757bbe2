// The page: what is shown, and what keys and the mouse do.

const THEMES = ["system", "light", "dark"];

class App {
  constructor(history) {
    this.history = history;
    this.frame = 0;
    this.time = 0;
    this.compare = -1;
    this.range = [0, history.frameCount];
    this.colour = "tag";
    this.selected = -1;
    // What is selected is a place that an object has left.
    this.isPlaceSelected = false;
    this.matches = null;
    this.isPrinting = false;
    this.tip = byId("tip");
    document.body.append(this.tip);
    readTheme();
    this.allSeries = { tag: new Series(history, "tag"), kind: null };
    this.series = this.allSeries.tag;
    byId("legend").replaceChildren(make("table"));
    this.charts = [];
    history.heaps.forEach((_, heap) => {
      if (this.series.reserved[heap].some((bytes) => bytes > 0)) this.charts.push(new Chart(this, heap, byId("charts")));
    });
    this.own = ownMemory(this);
    if (this.own) this.charts.push(new OwnChart(this, byId("own-charts")), new OwnRows(this, byId("own-charts")));
    this.overview = new Overview(this, byId("overview"));
    this.map = new BlockMap(this);
    this.describeData();
    this.listen();
    this.redraw();
    this.setFrame(this.peak());
  }

  describeData() {
    const { header, frameCount, objectCount: objects } = this.history;
    const title = shown(header.title, "GPU memory");
    byId("title").textContent = title;
    document.title = `${title}: GPU memory`;
    const what = header.source === "events" ? `${count(this.history.lastClock)} events` : "snapshots";
    byId("subtitle").textContent = `${shown(header.device, "unknown device")} (${shown(header.backend, "?")}), `
      + `${count(frameCount)} ${header.source === "events" ? "frames" : "moments"}, ${count(objects)} objects, ${what}`;
    byId("slider").max = frameCount - 1;
  }

  /** The frame with most reserved. */
  peak() {
    const { reserved } = this.history.frames;
    return reserved.reduce((best, bytes, frame) => (bytes > reserved[best] ? frame : best), 0);
  }

  /** Shows a frame at its end. */
  setFrame(frame) {
    const next = Math.max(0, Math.min(this.history.frameCount - 1, Math.round(frame)));
    this.frame = next;
    this.time = this.history.frames.at[next];
    this.schedule();
  }

  /** Shows the moment after an event. */
  setTime(time) {
    this.time = Math.max(0, Math.min(this.history.lastClock, time));
    this.frame = Math.min(this.history.frameOf(this.time), this.history.frameCount - 1);
    this.schedule();
  }

  /** Draws once for all that happens before the next picture of the screen. */
  schedule() {
    if (this.isScheduled) return;
    this.isScheduled = true;
    requestAnimationFrame(() => {
      this.isScheduled = false;
      this.update();
    });
  }

  /** Everything that depends on the moment. */
  update() {
    const { history, frame } = this;
    this.followSelected();
    const slider = byId("slider");
    slider.value = frame;
    const number = count(history.frames.number[frame]);
    slider.setAttribute("aria-valuetext", `frame ${number}`);
    const isEnd = this.time === history.frames.at[frame];
    byId("now").textContent = `Frame ${number}${isEnd ? "" : `, after event ${count(this.time)}`}`;
    if (this.frame < this.range[0] || this.frame >= this.range[1]) this.follow();
    this.charts.forEach((chart) => chart.drawCursor());
    this.overview.draw();
    drawLegend(this);
    drawTotals(this);
    this.map.update();
    drawLargest(this);
    drawHolds(this);
    drawCompared(this);
    drawObject(this);
  }

  /** Moves the frames that the charts show, so that the one that is chosen is among them. */
  follow() {
    const wide = this.range[1] - this.range[0];
    const from = Math.max(0, Math.min(this.history.frameCount - wide, this.frame - Math.floor(wide / 2)));
    this.range = [from, from + wide];
    this.charts.forEach((chart) => chart.draw());
  }

  /** Everything, after a change of size, colours or zoom. */
  redraw() {
    readTheme();
    if (this.own) drawOwn(this);
    this.charts.forEach((chart) => chart.draw());
    drawMapLegend(this);
    drawPlan(this);
    this.schedule();
  }

  setRange(from, to) {
    const begin = Math.max(0, Math.min(Math.floor(from), this.history.frameCount - 2));
    this.range = [begin, Math.min(this.history.frameCount, Math.max(Math.ceil(to), begin + 2))];
    this.charts.forEach((chart) => chart.draw());
    if (this.frame < this.range[0] || this.frame >= this.range[1]) {
      this.setFrame(Math.max(this.range[0], Math.min(this.range[1] - 1, this.frame)));
    }
    this.schedule();
  }

  /** Shows so many times as many frames, around one that stays where it is. */
  zoom(factor, around = this.frame) {
    const [from, to] = this.range;
    const wide = Math.max(2, Math.min(this.history.frameCount, (to - from) * factor));
    const begin = around - ((around - from) / (to - from)) * wide;
    this.setRange(Math.max(0, Math.min(begin, this.history.frameCount - wide)), Math.max(0, begin) + wide);
  }

  setColour(colour) {
    this.colour = colour;
    byId("colour").value = colour;
    const column = colour === "kind" ? "kind" : "tag";
    this.allSeries[column] ||= new Series(this.history, column);
    this.series = this.allSeries[column];
    this.redraw();
  }

  find(text) {
    const wanted = text.toLowerCase();
    const { history } = this;
    this.matches = wanted ? history.strings.map((name) => name.toLowerCase().includes(wanted)) : null;
    this.schedule();
    if (!wanted) return void (byId("found").textContent = "");
    const { name, tag, dropped } = history.objects;
    const isFound = (object) => dropped[object] > this.time && (this.matches[name[object]] || this.matches[tag[object]]);
    byId("found").textContent = `${count(history.at(this.time).filter(isFound).length)} live objects`;
  }

  /** What moves stays selected where it is. A place that was left stays selected as long as its bytes wait. */
  followSelected() {
    const { born, released } = this.history.objects;
    const isThere = (object) => born[object] <= this.time && this.time < released[object];
    if (this.selected < 0 || (this.isPlaceSelected && isThere(this.selected))) return;
    this.selected = this.history.placeAt(this.selected, this.time);
    this.isPlaceSelected = false;
  }

  select(object, isToBeSeen = false) {
    this.selected = object;
    this.isPlaceSelected = object >= 0 && this.history.hasLeft(object, this.time);
    drawObject(this);
    this.map.paint();
    if (isToBeSeen && object >= 0) {
      const { created, gone } = this.history.objects;
      if (this.time < created[object]) this.setTime(created[object]);
      else if (this.time >= gone[object]) this.setTime(gone[object] - 1);
      requestAnimationFrame(() => requestAnimationFrame(() => {
        this.map.reveal(this.selected);
        byId("map").scrollIntoView({ block: "nearest" });
      }));
    }
  }

  toggleCompare() {
    this.compare = this.compare < 0 ? this.frame : -1;
    const button = byId("compare");
    button.setAttribute("aria-pressed", String(this.compare >= 0));
    const number = this.compare >= 0 ? count(this.history.frames.number[this.compare]) : "";
    button.textContent = this.compare >= 0 ? `Compared with frame ${number}` : "Compare from here";
    this.schedule();
  }

  showTip(event, lines) {
    this.tip.replaceChildren(descriptionList(lines));
    this.tip.hidden = false;
    const { offsetWidth: width, offsetHeight: height } = this.tip;
    const x = event.clientX + 16 + width > innerWidth ? event.clientX - 12 - width : event.clientX + 16;
    const y = event.clientY + 16 + height > innerHeight ? event.clientY - 12 - height : event.clientY + 16;
    this.tip.style.left = `${Math.max(0, x)}px`;
    this.tip.style.top = `${Math.max(0, y)}px`;
  }

  hideTip() {
    this.tip.hidden = true;
  }

  nextTheme() {
    const now = document.documentElement.dataset.theme || "system";
    this.setTheme(THEMES[(THEMES.indexOf(now) + 1) % THEMES.length]);
  }

  setTheme(theme) {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    byId("theme").textContent = `Theme: ${theme}`;
    this.redraw();
  }

  toggleKeys() {
    byId("keys").hidden = !byId("keys").hidden;
    byId("help").setAttribute("aria-expanded", String(!byId("keys").hidden));
  }

  listen() {
    const click = (id, act) => byId(id).addEventListener("click", act);
    click("back", () => this.setFrame(this.frame - 1));
    click("on", () => this.setFrame(this.frame + 1));
    click("peak", () => this.setFrame(this.peak()));
    click("compare", () => this.toggleCompare());
    click("all", () => this.setRange(0, this.history.frameCount));
    click("theme", () => this.nextTheme());
    click("help", () => this.toggleKeys());
    byId("slider").addEventListener("input", (event) => this.setFrame(Number(event.target.value)));
    byId("colour").addEventListener("change", (event) => this.setColour(event.target.value));
    byId("find").addEventListener("input", (event) => this.find(event.target.value));
    byId("largest-part").addEventListener("toggle", () => drawLargest(this));
    document.addEventListener("keydown", (event) => this.key(event));
    addEventListener("resize", () => this.redraw());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    addEventListener("beforeprint", () => this.print(true));
    addEventListener("afterprint", () => this.print(false));
  }

  /** Paper is white, and shows all blocks. */
  print(isPrinting) {
    this.isPrinting = isPrinting;
    if (isPrinting) this.themeBefore = document.documentElement.dataset.theme || "system";
    this.setTheme(isPrinting ? "light" : this.themeBefore);
    this.update();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const act = this.actions(event.shiftKey)[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  actions(isShift) {
    const far = isShift ? 10 : 1;
    return {
      ArrowLeft: () => this.setFrame(this.frame - far),
      ArrowRight: () => this.setFrame(this.frame + far),
      Home: () => this.setFrame(0),
      End: () => this.setFrame(this.history.frameCount - 1),
      ",": () => this.setTime(this.time - 1),
      ".": () => this.setTime(this.time + 1),
      p: () => this.setFrame(this.peak()),
      "+": () => this.zoom(0.5),
      "=": () => this.zoom(0.5),
      "-": () => this.zoom(2),
      0: () => this.setRange(0, this.history.frameCount),
      1: () => this.setColour("tag"),
      2: () => this.setColour("kind"),
      3: () => this.setColour("age"),
      4: () => this.setColour("use"),
      c: () => this.toggleCompare(),
      "/": () => byId("find").focus(),
      t: () => this.nextTheme(),
      "?": () => this.toggleKeys(),
    };
  }
}

/** Reads the data and shows it. */
async function begin() {
  const message = byId("message");
  try {
    const history = new History(await unpack());
    if (!history.frameCount) {
      message.textContent = "There is no frame in the data.";
      return null;
    }
    byId("content").hidden = false;
    const app = new App(history);
    message.hidden = true;
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    // Milliseconds since the page was asked for.
    app.shownAt = performance.now();
    return app;
  } catch (error) {
    message.className = "error";
    message.textContent = `The page cannot be shown: ${error.message}`;
    throw error;
  }
}

const opened = begin();
