// Colours, patterns, numbers and elements.

/**
 * The palette of Okabe and Ito, which people with any kind of colour vision can tell apart; its vermilion is for what waits.
 */
const PALETTE = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#f0e442"];
const REST = "#4d5560";

/** What memory is that holds nothing live, from the bottom up. Each has a pattern besides its colour. */
const WASTE = [
  { id: "own", text: "the manager's own use", colour: "#7a7f88", pattern: "dots", live: true },
  { id: "waiting", text: "waiting for release", colour: "#d55e00", pattern: "rising" },
  { id: "padding", text: "alignment and rounding", colour: "#a6761d", pattern: "dots" },
  { id: "holes", text: "holes in blocks", colour: "#9aa1ac", pattern: "falling" },
  { id: "idle", text: "empty blocks that are kept", colour: "#c3c8d0", pattern: "cross" },
  { id: "pages", text: "pages of page allocators", colour: "#5b7f9e", pattern: "level" },
  { id: "transient", text: "transient heaps", colour: "#7d6b9e", pattern: "level" },
];

/** A colour of the page's style, by the name of its variable. */
function themed(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** Red, green and blue of a colour written with six digits. */
function channels(colour) {
  const number = parseInt(colour.slice(1), 16);
  return [(number >> 16) & 255, (number >> 8) & 255, number & 255];
}

/** A colour as a pixel of an image. */
function pixel(colour) {
  const [red, green, blue] = channels(colour);
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** A tile of a pattern over a colour. */
function patternOf(context, colour, kind) {
  const size = 8;
  const tile = document.createElement("canvas");
  tile.width = tile.height = size;
  const draw = tile.getContext("2d");
  draw.fillStyle = colour;
  draw.fillRect(0, 0, size, size);
  draw.strokeStyle = draw.fillStyle = "rgb(255 255 255 / 55%)";
  draw.lineWidth = 1.4;
  const line = (x0, y0, x1, y1) => {
    draw.beginPath();
    draw.moveTo(x0, y0);
    draw.lineTo(x1, y1);
    draw.stroke();
  };
  if (kind === "rising" || kind === "cross") [-size, 0, size].forEach((x) => line(x, size, x + size, 0));
  if (kind === "falling" || kind === "cross") [-size, 0, size].forEach((x) => line(x, 0, x + size, size));
  if (kind === "level") line(0, size / 2, size, size / 2);
  if (kind === "dots") [[2, 2], [6, 6]].forEach(([x, y]) => draw.fillRect(x - 1, y - 1, 2, 2));
  return kind ? context.createPattern(tile, "repeat") : colour;
}

/** A canvas in the pixels of the screen: its context, its width and its height in those of the page. */
function fit(canvas, height) {
  const ratio = window.devicePixelRatio || 1;
  const width = Math.max(50, canvas.parentElement.clientWidth && canvas.clientWidth);
  const high = height || canvas.clientHeight;
  const [w, h] = [Math.round(width * ratio), Math.round(high * ratio)];
  if (canvas.width !== w) canvas.width = w;
  if (canvas.height !== h) canvas.height = h;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, high);
  return { context, width, height: high, ratio };
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** Bytes in words, with three digits. */
function bytesText(bytes) {
  let unit = 0;
  let value = bytes;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  const digits = Number.isInteger(value) || value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${UNITS[unit]}`;
}

/** A whole number with commas. */
function count(number) {
  return Math.round(number).toString().replace(/\B(?=(\d{3})+$)/g, ",");
}

/** A share in per cent. */
function share(part, whole) {
  return whole > 0 ? `${((100 * part) / whole).toFixed(1)} %` : "–";
}

/** The longest part of a name that is shown. */
const LONGEST = 200;

/** A name as it is shown: short, and without characters that have no picture. */
function shown(name, empty = "(no name)") {
  if (name === "") return empty;
  const clean = [...name.slice(0, LONGEST)].map((c) => (c < " " || c === "\u007f" ? "\ufffd" : c)).join("");
  return name.length > LONGEST ? `${clean}… (${count(name.length)} characters)` : clean;
}

/** An element with text, and with children after it. */
function make(tag, options = {}, ...children) {
  const element = document.createElement(tag);
  const { text, className, title, ...rest } = options;
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  if (title !== undefined) element.title = title;
  for (const name in rest) element.setAttribute(name, rest[name]);
  element.append(...children);
  return element;
}

/** A name in an element of its own, so that one that is written from right to left leaves its surroundings alone. */
function nameElement(name, empty) {
  return make("bdi", { text: shown(name, empty) });
}

/** Fills a table. Columns with a number are on the right; a cell may be an element. */
function fillTable(table, caption, heads, rows) {
  const cell = (tag, content, index) => {
    const isNumber = heads[index].number;
    const element = make(tag, { className: isNumber ? "number" : heads[index].name ? "name" : "" });
    element.append(content);
    return element;
  };
  const head = make("tr", {}, ...heads.map((head, i) => {
    const element = cell("th", head.text, i);
    element.scope = "col";
    return element;
  }));
  const body = rows.map((row) => {
    const line = make("tr", {}, ...row.cells.map((content, i) => cell("td", content, i)));
    if (row.choose) {
      line.className = "choice";
      line.tabIndex = 0;
      line.addEventListener("click", row.choose);
      line.addEventListener("keydown", (event) => {
        if (event.key === "Enter") row.choose();
      });
    }
    return line;
  });
  table.replaceChildren(
    make("caption", { text: caption }),
    make("thead", {}, head),
    make("tbody", {}, ...body),
  );
}

/** A small sample of a colour and a pattern, for legends. */
function swatch(colour, pattern) {
  const canvas = make("canvas", { className: "swatch", "aria-hidden": "true" });
  canvas.width = 16;
  canvas.height = 12;
  const context = canvas.getContext("2d");
  context.fillStyle = patternOf(context, colour, pattern);
  context.fillRect(0, 0, 16, 12);
  return canvas;
}

/** A round number of bytes for the lines of an axis: a power of two, three to six times in the whole. */
function niceStep(most) {
  return 2 ** Math.max(0, Math.ceil(Math.log2(Math.max(1, most) / 6)));
}
