// The blocks of every pool at one moment: a strip each, as wide as the block is large.

const STRIP = 16;
const GAP = 4;
const TITLE = 22;
const NARROWEST = 4;

/** So many strips of a pool have a line each; of more, several share one. */
const FEW_STRIPS = 24;
const MOST_COLUMNS = 8;

/** What an object is coloured by when time counts: few frames at the left. From dark to light, also without colour. */
const SCALE = ["#00224e", "#35456c", "#666970", "#948e77", "#c8b866", "#fee838"];
const SCALE_BOUNDS = [1, 4, 16, 64, 256];
const SCALE_TEXT = ["0", "1 to 3", "4 to 15", "16 to 63", "64 to 255", "256 or more"];

/** The index in the scale of a number of frames. */
function scaleOf(frames) {
  let index = 0;
  while (index < SCALE_BOUNDS.length && frames >= SCALE_BOUNDS[index]) index++;
  return index;
}

class BlockMap {
  constructor(app) {
    this.app = app;
    this.element = document.getElementById("map");
    this.canvas = this.element.querySelector("canvas");
    this.size = document.getElementById("map-size");
    this.strips = [];
    this.image = null;
    this.element.addEventListener("scroll", () => this.paint());
    this.element.addEventListener("pointermove", (event) => this.hover(event));
    this.element.addEventListener("pointerleave", () => this.app.hideTip());
    this.element.addEventListener("click", (event) => this.choose(event));
    this.element.addEventListener("keydown", (event) => this.key(event));
  }

  /** A new moment: what is there, where it is drawn. */
  update() {
    this.width = Math.max(120, this.element.clientWidth);
    this.place();
    this.paint();
  }

  /** Puts a strip for each block, and for each object with memory of its own, below one another. */
  place() {
    const { history, time } = this.app;
    const alive = history.at(time);
    this.alive = alive;
    const blocks = this.liveBlocks(time);
    const ofBlock = new Int32Array(history.blocks.born.length).fill(-1);
    this.strips = [];
    this.titles = [];
    let y = 4;
    history.pools.forEach((pool, number) => {
      const own = blocks.get(number) || [];
      if (!own.length) return;
      const sizes = own.map((block) => history.blocks.size[block]);
      const text = `${pool.kind}, heap ${pool.heap}: ${count(own.length)} block${own.length === 1 ? "" : "s"}, `
        + bytesText(sizes.reduce((a, b) => a + b, 0));
      y = this.flow(y, text, own, sizes, (block, strip) => (ofBlock[block] = strip), pool);
    });
    const apart = new Map();
    for (const object of alive) {
      if (history.objects.block[object] || !history.objects.heap[object]) continue;
      const key = `${history.strings[history.objects.location[object]]}, heap ${history.objects.heap[object] - 1}`;
      if (!apart.has(key)) apart.set(key, []);
      apart.get(key).push(object);
    }
    for (const [key, objects] of [...apart].sort()) {
      objects.sort((a, b) => a - b);
      const sizes = objects.map((object) => history.objects.size[object] + history.objects.padding[object]);
      const text = `${key}: ${count(objects.length)}, ${bytesText(sizes.reduce((a, b) => a + b, 0))}`;
      y = this.flow(y, text, objects, sizes, (object, strip) => (this.strips[strip].object = object), null);
    }
    this.height = y;
    this.fillStrips(ofBlock);
    this.size.style.height = `${Math.max(y, this.element.clientHeight)}px`;
  }

  /** The blocks of each pool at a moment, by number. */
  liveBlocks(time) {
    const { pool, number, born, gone } = this.app.history.blocks;
    const found = new Map();
    const end = upperBound(born, time);
    for (let block = 0; block < end; block++) {
      if (gone[block] <= time) continue;
      if (!found.has(pool[block])) found.set(pool[block], []);
      found.get(pool[block]).push(block);
    }
    for (const blocks of found.values()) blocks.sort((a, b) => number[a] - number[b]);
    return found;
  }

  /** Puts strips side by side, in lines; the widest fills a line, or a part of one where there are many. The place below. */
  flow(y, text, items, sizes, note, pool) {
    this.titles.push({ y, text });
    y += TITLE;
    const most = sizes.reduce((a, b) => Math.max(a, b), 1);
    const columns = Math.max(1, Math.min(MOST_COLUMNS, Math.ceil(items.length / FEW_STRIPS)));
    const width = this.width - 16;
    const widest = (width + GAP) / columns - GAP;
    let x = 8;
    items.forEach((item, k) => {
      const wide = Math.max(NARROWEST, Math.floor((sizes[k] / most) * widest));
      if (x > 8 && x + wide > 8 + width) {
        x = 8;
        y += STRIP + GAP;
      }
      this.strips.push({ x, y, width: wide, size: Math.max(1, sizes[k]), pool, block: pool ? item : -1, objects: [], lanes: 1 });
      note(item, this.strips.length - 1);
      x += wide + GAP;
    });
    return y + STRIP + 10;
  }

  /** Gives each strip its objects; those that share bytes lie above one another. */
  fillStrips(ofBlock) {
    const { history } = this.app;
    const { block } = history.objects;
    for (const object of this.alive) {
      if (!block[object]) continue;
      const strip = ofBlock[block[object] - 1];
      if (strip >= 0) this.strips[strip].objects.push(object);
    }
    for (const strip of this.strips) {
      if (strip.object !== undefined) strip.objects.push(strip.object);
      if (strip.pool && history.header.source === "snapshots") this.stack(strip);
    }
  }

  stack(strip) {
    const { offset, size } = this.app.history.objects;
    strip.objects.sort((a, b) => offset[a] - offset[b]);
    const ends = [];
    strip.lane = strip.objects.map((object) => {
      let lane = ends.findIndex((end) => end <= offset[object]);
      if (lane < 0) lane = ends.push(0) - 1;
      ends[lane] = offset[object] + size[object];
      return lane;
    });
    strip.lanes = Math.max(1, Math.min(ends.length, STRIP / 2));
  }

  /** The colour of each object. */
  colours() {
    const { history, colour, series, frame } = this.app;
    if (colour === "tag" || colour === "kind") {
      const { groups, groupOf } = series;
      const pixels = groups.map((group) => pixel(group.colour));
      const numbers = history.objects[colour];
      return (object) => pixels[groupOf[numbers[object]]];
    }
    const pixels = SCALE.map(pixel);
    if (colour === "age") return (object) => pixels[scaleOf(Math.max(0, frame - history.birthFrame(object)))];
    const hottestFirst = pixels.slice().reverse();
    return (object) => {
      const last = Math.max(history.birthFrame(object), history.lastUse(object, frame));
      return hottestFirst[scaleOf(Math.max(0, frame - last))];
    };
  }

  /** The strips that are to be seen, pixel by pixel: tens of thousands of objects in a few milliseconds. */
  paint() {
    if (!this.alive) return;
    const isPrinting = this.app.isPrinting;
    const high = isPrinting ? Math.min(this.height, 4000) : this.element.clientHeight;
    const { context, ratio } = fit(this.canvas, high);
    const [width, height] = [this.canvas.width, this.canvas.height];
    if (!this.image || this.image.width !== width || this.image.height !== height) {
      this.image = new ImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
    }
    this.pixels.fill(pixel(themedOnce.back));
    this.top = isPrinting ? 0 : this.element.scrollTop;
    const colourOf = this.colours();
    const free = pixel(themedOnce.free);
    for (const strip of this.strips) {
      const y = strip.y - this.top;
      if (y + STRIP < 0 || y > high) continue;
      this.paintStrip(strip, y, ratio, free, colourOf);
    }
    context.putImageData(this.image, 0, 0);
    this.paintText(context, high);
  }

  paintStrip(strip, y, ratio, free, colourOf) {
    const { pixels, image, app } = this;
    const { offset, size, padding, dropped } = app.history.objects;
    const x0 = Math.round(strip.x * ratio);
    const wide = Math.max(1, Math.round(strip.width * ratio));
    const scale = wide / strip.size;
    const find = app.matches;
    const paintRows = (from, to, first, last, colour, isWaiting, isDim) => {
      const color = isDim ? free : colour;
      for (let row = Math.max(0, from); row < Math.min(image.height, to); row++) {
        const begin = row * image.width;
        pixels.fill(color, begin + first, begin + last);
        if (isWaiting && !isDim) {
          // Stripes, so that what is gone is told from what lives without its colour.
          for (let x = first + ((8 - ((first + row) % 8)) % 8); x < last; x += 8) {
            pixels[begin + x] = this.stripe;
            if (x + 1 < last) pixels[begin + x + 1] = this.stripe;
            if (x + 2 < last) pixels[begin + x + 2] = this.stripe;
          }
        }
      }
    };
    this.stripe = pixel(themedOnce.back);
    const [top, bottom] = [Math.round(y * ratio), Math.round((y + STRIP) * ratio)];
    paintRows(top, bottom, x0, x0 + wide, free, false, false);
    const lane = (bottom - top) / strip.lanes;
    for (let k = 0; k < strip.objects.length; k++) {
      const object = strip.objects[k];
      const begin = strip.block < 0 ? 0 : offset[object];
      const first = x0 + Math.min(wide - 1, Math.floor(begin * scale));
      const end = x0 + Math.min(wide, Math.max(first - x0 + 1, Math.floor((begin + size[object] + padding[object]) * scale)));
      const at = strip.lane ? strip.lane[k] % strip.lanes : 0;
      const [from, to] = [Math.round(top + at * lane), Math.round(top + (at + 1) * lane)];
      const isDim = find !== null && !find[app.history.objects.name[object]] && !find[app.history.objects.tag[object]];
      paintRows(from, to, first, end, colourOf(object), dropped[object] <= app.time, isDim);
      // A gap of a pixel between neighbours that are wide enough.
      if (end - first > 3) paintRows(from, to, end - 1, end, this.stripe, false, false);
    }
  }

  paintText(context, high) {
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.fillStyle = themedOnce.text;
    for (const { y, text } of this.titles) {
      if (y - this.top > -TITLE && y - this.top < high) context.fillText(text, 8, y - this.top + TITLE / 2);
    }
    context.textBaseline = "alphabetic";
    const { history, frame } = this.app;
    for (const strip of this.strips) {
      const y = strip.y - this.top;
      if (strip.block < 0 || y + STRIP < 0 || y > high) continue;
      this.paintOther(context, strip, y, history.otherBytes(strip.block, frame));
    }
    const selected = this.app.selected;
    if (selected >= 0) this.outline(context, selected);
  }

  /** What the manager itself has in a block, whose place is not known: a line along the bottom, as wide as it is. */
  paintOther(context, strip, y, bytes) {
    const holdsBlocks = strip.pool && strip.pool.holds_blocks;
    if (!bytes && !holdsBlocks) return;
    context.fillStyle = themedOnce.dim;
    const text = holdsBlocks ? "holds the blocks of small buffers" : `${bytesText(bytes)} of the manager's own`;
    if (!holdsBlocks) context.fillRect(strip.x, y + STRIP - 3, Math.max(2, strip.width * Math.min(1, bytes / strip.size)), 3);
    context.font = "11px system-ui, sans-serif";
    if (!strip.objects.length && strip.width > context.measureText(text).width + 12) {
      context.fillText(text, strip.x + 6, y + STRIP - 5);
    }
  }

  /** Where an object is drawn; `null` where it is not. */
  boxOf(object) {
    const { offset, size, padding } = this.app.history.objects;
    const strip = this.strips.find((strip) => strip.objects.includes(object));
    if (!strip) return null;
    const begin = strip.block < 0 ? 0 : offset[object];
    const scale = strip.width / strip.size;
    return {
      x: strip.x + begin * scale,
      y: strip.y,
      width: Math.max(2, (size[object] + padding[object]) * scale),
    };
  }

  outline(context, object) {
    const box = this.boxOf(object);
    if (!box) return;
    context.lineWidth = 2;
    context.strokeStyle = themedOnce.select;
    context.strokeRect(box.x - 1, box.y - this.top - 1, box.width + 2, STRIP + 2);
    context.lineWidth = 1;
  }

  /** The strip and the object at a place on the screen. */
  hit(event) {
    const { left, top } = this.element.getBoundingClientRect();
    const [x, y] = [event.clientX - left - 1, event.clientY - top - 1 + this.element.scrollTop];
    const strip = this.strips.find((strip) =>
      x >= strip.x && x < strip.x + strip.width && y >= strip.y && y < strip.y + STRIP);
    if (!strip) return null;
    if (strip.block < 0) return { strip, object: strip.object, byte: 0 };
    const { offset, size, padding } = this.app.history.objects;
    const byte = ((x - strip.x) / strip.width) * strip.size;
    const reach = strip.size / strip.width;
    let best = -1;
    let distance = reach;
    strip.objects.forEach((object, k) => {
      const end = offset[object] + size[object] + padding[object];
      const apart = byte < offset[object] ? offset[object] - byte : byte >= end ? byte - end : 0;
      const lane = strip.lane ? strip.lane[k] % strip.lanes : 0;
      const isLane = strip.lanes === 1 || Math.floor(((y - strip.y) / STRIP) * strip.lanes) === lane;
      if (isLane && apart < distance) [best, distance] = [object, apart];
    });
    return { strip, object: best, byte };
  }

  hover(event) {
    const found = this.hit(event);
    if (!found) return this.app.hideTip();
    const { history } = this.app;
    if (found.object >= 0) return this.app.showTip(event, describe(this.app, found.object));
    const { strip } = found;
    const used = strip.objects.reduce((sum, o) => sum + history.objects.size[o] + history.objects.padding[o], 0);
    this.app.showTip(event, [
      ["block", `${history.blocks.number[strip.block]} of ${strip.pool.kind}`],
      ["size", bytesText(strip.size)],
      ["objects", count(strip.objects.length)],
      ["free", bytesText(Math.max(0, strip.size - used - history.otherBytes(strip.block, this.app.frame)))],
      ["here", `free, at byte ${count(found.byte)}`],
    ]);
  }

  choose(event) {
    const found = this.hit(event);
    this.app.select(found && found.object >= 0 ? found.object : -1);
  }

  /** Up and down go through the objects in the order of their places. */
  key(event) {
    if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return;
    event.preventDefault();
    const { offset } = this.app.history.objects;
    const order = this.strips.flatMap((strip) => [...strip.objects].sort((a, b) => offset[a] - offset[b]));
    if (!order.length) return;
    const now = order.indexOf(this.app.selected);
    const next = now < 0 ? 0 : Math.max(0, Math.min(order.length - 1, now + (event.key === "ArrowDown" ? 1 : -1)));
    this.app.select(order[next]);
    this.reveal(order[next]);
  }

  /** Scrolls to an object. */
  reveal(object) {
    const box = this.boxOf(object);
    if (!box) return;
    const high = this.element.clientHeight;
    if (box.y < this.element.scrollTop + TITLE || box.y + STRIP > this.element.scrollTop + high) {
      this.element.scrollTop = Math.max(0, box.y - high / 2);
    }
  }
}

/** What the colours of the blocks mean. */
function drawMapLegend(app) {
  const legend = document.getElementById("map-legend");
  const entry = (colour, text, pattern) => make("span", {}, swatch(colour, pattern), make("bdi", { text }));
  const isTime = app.colour === "age" || app.colour === "use";
  const entries = isTime
    ? SCALE.map((_, i) => entry(app.colour === "use" ? SCALE[SCALE.length - 1 - i] : SCALE[i], SCALE_TEXT[i]))
    : app.series.groups.map((group) => entry(group.colour, group.text));
  if (app.colour === "age") entries.unshift(make("span", { text: "frames since it was created:" }));
  if (app.colour === "use") {
    const what = app.history.hasUses ? "frames since work used it, or it was created:" : "no uses in this data; frames since it was created:";
    entries.unshift(make("span", { text: what }));
  }
  entries.push(entry(REST, "striped: dropped, waits for release", "rising"), entry(themedOnce.free, "free"));
  legend.replaceChildren(...entries);
}
