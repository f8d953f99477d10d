// Graphs as SVG: lines over time, and bars. Their labels say in words what they show.

import { h, s, short } from "./dom.js";

const WIDE = 640;
const NARROW = 360;
const HEIGHT = 200;
const LEFT = 46;
const RIGHT = 8;
const TOP = 8;
const BOTTOM = 22;

function ticks(highest, wanted = 4) {
  if (!(highest > 0)) return [0, 1];
  const rough = highest / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((by) => by * power).find((by) => by >= rough);
  return Array.from({ length: Math.ceil(highest / step) + 1 }, (_, index) => index * step);
}

const clock = (time) => new Date(time).toLocaleTimeString("en-GB");

// series: [{name, points: [[time_ms, value or null]]}]
export function lines(title, series, format = short) {
  const points = series.flatMap((each) => each.points.filter(([, value]) => value !== null));
  const newest = series.map((each) => `${each.name} ${format(each.points.at(-1)?.[1] ?? null)}`).join(", ");
  const legend = h("ul", { class: "legend" }, series.map((each, index) =>
    h("li", {}, h("span", { class: `swatch s${index % 6}` }), each.name, " ", h("b", {}, format(each.points.at(-1)?.[1] ?? null)))));
  const figure = (drawing) => h("figure", { class: "chart" }, h("figcaption", {}, title), legend, drawing);
  if (points.length < 2) return figure(h("p", { class: "empty" }, "Nothing to draw yet."));

  // A viewBox as wide as it will be drawn keeps the letters readable on a phone.
  const WIDTH = window.innerWidth < 720 ? NARROW : WIDE;
  const times = points.map(([time]) => time);
  const first = Math.min(...times);
  const last = Math.max(...times);
  const scale = ticks(Math.max(...points.map(([, value]) => value)));
  const top = scale.at(-1);
  const x = (time) => LEFT + ((time - first) / (last - first || 1)) * (WIDTH - LEFT - RIGHT);
  const y = (value) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - TOP - BOTTOM);
  const path = (line) => {
    let drawn = "";
    let pen = "M";
    for (const [time, value] of line) {
      if (value === null) pen = "M";
      else {
        drawn += `${pen}${x(time).toFixed(1)},${y(value).toFixed(1)}`;
        pen = "L";
      }
    }
    return drawn;
  };
  const cursor = s("line", { class: "cursor", y1: TOP, y2: HEIGHT - BOTTOM, visibility: "hidden" });
  const readout = h("p", { class: "readout" });
  const drawing = s("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    role: "img",
    "aria-label": `${title}: ${newest}`,
    onpointermove: (event) => {
      const box = event.currentTarget.getBoundingClientRect();
      const time = first + (((event.clientX - box.left) / box.width) * WIDTH - LEFT) / (WIDTH - LEFT - RIGHT) * (last - first);
      const nearest = (line) => line.reduce((best, point) => (Math.abs(point[0] - time) < Math.abs(best[0] - time) ? point : best));
      const at = nearest(series[0].points)[0];
      const shown = event.currentTarget.querySelector(".cursor");
      for (const end of ["x1", "x2"]) shown.setAttribute(end, x(at));
      shown.setAttribute("visibility", "visible");
      event.currentTarget.parentNode.querySelector(".readout").textContent =
        `${clock(at)}  ${series.map((each) => `${each.name} ${format(nearest(each.points)[1])}`).join("  ")}`;
    },
    onpointerleave: (event) => {
      event.currentTarget.querySelector(".cursor").setAttribute("visibility", "hidden");
      event.currentTarget.parentNode.querySelector(".readout").textContent = "";
    },
  },
  scale.map((value) => [
    s("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value) }),
    s("text", { class: "tick", x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, format(value)),
  ]),
  [0, 0.5, 1].map((part) => s("text", { class: "tick", x: LEFT + part * (WIDTH - LEFT - RIGHT), y: HEIGHT - 6, "text-anchor": ["start", "middle", "end"][part * 2] }, clock(first + part * (last - first)))),
  series.map((each, index) => s("path", { class: `line s${index % 6}`, d: path(each.points) })),
  cursor);
  return h("figure", { class: "chart" }, h("figcaption", {}, title), legend, drawing, readout);
}

// rows: [[label, value]]
export function bars(title, rows) {
  const highest = Math.max(...rows.map(([, value]) => value), 0) || 1;
  return h("figure", { class: "chart" }, h("figcaption", {}, title),
    h("ul", { class: "bars" }, rows.map(([label, value]) =>
      h("li", {}, h("span", { class: "label", title: label }, label),
        s("svg", { class: "bar", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
          s("rect", { class: "s0", width: Math.max((value / highest) * 100, 0.5), height: 10 })),
        h("span", { class: "amount" }, short(value))))));
}
