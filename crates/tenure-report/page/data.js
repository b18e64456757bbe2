// Reading the data: columns of numbers, and the indices by which any moment is found quickly.

/** An end that has not come. */
const NEVER = 0xffffffff;

/** The most numbers in the lists of what is there at some moments. */
const MOST_LISTED = 6e6;

/** The bytes that base64 stands for. */
function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** Unpacks the data in the page: a header, and columns by name. */
async function unpack() {
  const element = document.getElementById("data");
  const packed = fromBase64(element.textContent.trim());
  element.textContent = "";
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const columns = Object.create(null);
  let at = 4 + length;
  for (const column of header.columns) {
    columns[column.name] = readColumn(bytes, at, column);
    at += column.bytes;
  }
  return { header, columns };
}

/** Columns whose numbers are below 2^32. */
const SMALL = /^(object\.(born|life|wait|name|tag|kind|location|backtrace|heap|block|origin)|use\.|block\.(pool|number|born|life)|frame\.at)/;

/** Numbers of seven bits a byte, lowest first; the highest bit says that more follow. */
function readColumn(bytes, at, { name, coding, unit, count }) {
  const values = SMALL.test(name) ? new Uint32Array(count) : new Float64Array(count);
  const isDelta = coding === "delta";
  let before = 0;
  for (let i = 0; i < count; i++) {
    let byte = bytes[at++];
    let value = byte & 127;
    let scale = 128;
    while (byte > 127) {
      byte = bytes[at++];
      value += (byte & 127) * scale;
      scale *= 128;
    }
    if (isDelta) {
      // The lowest bit is the sign.
      value = value % 2 ? -(value + 1) / 2 : value / 2;
      value += before;
      before = value;
    }
    values[i] = value * unit;
  }
  return values;
}

/** The first index whose value is greater than `value`, in a column that rises. */
function upperBound(values, value) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** All that the page shows, by index: objects, blocks, frames, heaps, pools. */
class History {
  constructor({ header, columns }) {
    this.header = header;
    this.strings = header.strings;
    this.columns = columns;
    const part = (prefix) => {
      const found = Object.create(null);
      for (const name in columns) {
        if (name.startsWith(prefix)) found[name.slice(prefix.length)] = columns[name];
      }
      return found;
    };
    this.objects = part("object.");
    this.blocks = part("block.");
    this.frames = part("frame.");
    this.heaps = header.heaps.map((heap, index) => ({ ...heap, samples: part(`heap.${index}.`) }));
    this.pools = header.pools.map((pool, index) => ({ ...pool, samples: part(`pool.${index}.`) }));
    this.holds = part("hold.");
    this.count = this.objects.born.length;
    this.frameCount = this.frames.at.length;
    this.lastClock = this.frameCount ? this.frames.at[this.frameCount - 1] : 0;
    this.findEnds();
    this.findMoves();
    this.findFrames();
    this.listMoments();
    this.findUses();
    this.findOthers();
  }

  /** Ends of lives, from their lengths. */
  findEnds() {
    const { born, life, wait } = this.objects;
    const dropped = new Uint32Array(this.count);
    const released = new Uint32Array(this.count);
    for (let i = 0; i < this.count; i++) {
      dropped[i] = life[i] ? born[i] + life[i] - 1 : NEVER;
      released[i] = wait[i] ? dropped[i] + wait[i] - 1 : NEVER;
    }
    Object.assign(this.objects, { dropped, released });
    const blocks = this.blocks;
    blocks.gone = blocks.born.map((from, i) => (blocks.life[i] ? from + blocks.life[i] - 1 : NEVER));
  }

  /** What moves is an object for each place: which is the first, when that began, and when the last one ends. */
  findMoves() {
    const { origin, born, dropped } = this.objects;
    const first = Uint32Array.from(origin, (before, i) => (before ? before - 1 : i));
    this.places = new Map();
    for (let i = 0; i < this.count; i++) {
      if (first[i] === i) continue;
      if (!this.places.has(first[i])) this.places.set(first[i], [first[i]]);
      this.places.get(first[i]).push(i);
    }
    // Of the object wherever it is: when it was created, dropped, and released.
    const [created, end, gone] = [born.slice(), dropped.slice(), this.objects.released.slice()];
    this.objectCount = this.count;
    for (const places of this.places.values()) {
      const last = places[places.length - 1];
      this.objectCount -= places.length - 1;
      for (const i of places) {
        created[i] = born[places[0]];
        end[i] = dropped[last];
        gone[i] = this.objects.released[last];
      }
    }
    Object.assign(this.objects, { first, created, end, gone });
  }

  /** An object has left this place for another one. */
  hasLeft(object, time) {
    return this.objects.dropped[object] <= time && this.objects.end[object] !== this.objects.dropped[object];
  }

  /** Where an object is at a time, if it moves: the object of that place. */
  placeAt(object, time) {
    const places = this.places.get(this.objects.first[object]) || [object];
    return places.findLast((place) => this.objects.born[place] <= time) ?? places[0];
  }

  /** For each moment the first frame that ends then or later. */
  findFrames() {
    const frames = new Uint32Array(this.lastClock + 2);
    let frame = 0;
    for (let clock = 0; clock < frames.length; clock++) {
      while (frame < this.frameCount && this.frames.at[frame] < clock) frame++;
      frames[clock] = frame;
    }
    this.frameOfClock = frames;
  }

  /** The frame at whose end something that begins at a moment is there; `frameCount` for none. */
  frameOf(clock) {
    return clock < this.frameOfClock.length ? this.frameOfClock[clock] : this.frameCount;
  }

  /** Lists what is there at some moments, so that what is there at any other is found from the last before. */
  listMoments() {
    const { born, released } = this.objects;
    let lives = 0;
    for (let i = 0; i < this.count; i++) lives += Math.min(released[i], this.lastClock) - born[i];
    const usual = lives / Math.max(1, this.lastClock) + 1;
    const moments = Math.max(1, Math.min(256, Math.floor(MOST_LISTED / usual), Math.ceil(this.lastClock / 1024)));
    this.step = Math.max(1, Math.ceil((this.lastClock + 1) / moments));
    const begins = new Uint32Array(moments + 2);
    const each = (visit) => {
      for (let i = 0; i < this.count; i++) {
        const last = Math.min(moments - 1, Math.floor((Math.min(released[i], this.lastClock + 1) - 1) / this.step));
        for (let moment = Math.ceil(born[i] / this.step); moment <= last; moment++) visit(moment, i);
      }
    };
    each((moment) => begins[moment + 1]++);
    for (let moment = 0; moment <= moments; moment++) begins[moment + 1] += begins[moment];
    const listed = new Uint32Array(begins[moments + 1]);
    const next = begins.slice();
    each((moment, i) => (listed[next[moment]++] = i));
    Object.assign(this, { moments, begins, listed, found: new Uint32Array(1024) });
  }

  /** The indices of the objects whose bytes are taken at a moment, in no order that means anything. Good until the next call. */
  at(clock) {
    const { born, released } = this.objects;
    const moment = Math.min(this.moments - 1, Math.floor(clock / this.step));
    const first = upperBound(born, moment * this.step);
    const end = upperBound(born, clock);
    const most = this.begins[moment + 1] - this.begins[moment] + Math.max(0, end - first);
    if (this.found.length < most) this.found = new Uint32Array(most * 2);
    let count = 0;
    for (let k = this.begins[moment]; k < this.begins[moment + 1]; k++) {
      if (released[this.listed[k]] > clock) this.found[count++] = this.listed[k];
    }
    for (let i = first; i < end; i++) {
      if (released[i] > clock) this.found[count++] = i;
    }
    return this.found.subarray(0, count);
  }

  /** For each object the frames in which submitted work uses it. */
  findUses() {
    const { "use.object": objects, "use.frame": frames } = this.columns;
    this.hasUses = objects.length > 0;
    const begins = new Uint32Array(this.count + 2);
    for (const object of objects) begins[object + 1]++;
    for (let i = 0; i <= this.count; i++) begins[i + 1] += begins[i];
    const uses = new Uint32Array(objects.length);
    const next = begins.slice();
    for (let k = 0; k < objects.length; k++) uses[next[objects[k]]++] = frames[k];
    this.useBegins = begins;
    this.useFrames = uses;
  }

  /** The last frame until this one in which an object was used; -1 for none. */
  lastUse(object, frame) {
    const first = this.objects.first[object];
    let last = this.useBegins[first + 1] - 1;
    const begin = this.useBegins[first];
    while (last >= begin && this.useFrames[last] > frame) last--;
    return last >= begin ? this.useFrames[last] : -1;
  }

  /** What blocks hold besides objects, by block: frames and bytes, in order. */
  findOthers() {
    this.others = new Map();
    const { "other.block": blocks, "other.frame": frames, "other.bytes": bytes } = this.columns;
    for (let k = 0; k < blocks.length; k++) {
      if (!this.others.has(blocks[k])) this.others.set(blocks[k], []);
      this.others.get(blocks[k]).push([frames[k], bytes[k]]);
    }
  }

  /** Bytes of a block that the manager itself uses at the end of a frame. */
  otherBytes(block, frame) {
    let bytes = 0;
    for (const [from, value] of this.others.get(block) || []) {
      if (from > frame) break;
      bytes = value;
    }
    return bytes;
  }

  /** The frame in which an object was created, as an index. */
  birthFrame(object) {
    return Math.min(this.frameOf(this.objects.created[object]), this.frameCount - 1);
  }

  /** The heap of an object that takes bytes of the manager's memory for itself; -1 for others. */
  ownHeap(object) {
    return COUNTED.has(this.strings[this.objects.location[object]]) ? this.objects.heap[object] - 1 : -1;
  }

  name(object) {
    return this.strings[this.objects.name[object]];
  }

  tag(object) {
    return this.strings[this.objects.tag[object]];
  }

  kind(object) {
    return this.strings[this.objects.kind[object]];
  }
}

/** How objects are placed that have bytes for themselves, and not in a page or a transient heap. */
const COUNTED = new Set(["range", "placed", "committed"]);
