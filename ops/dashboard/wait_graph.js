// The wait chain as a graph: culprits on the left, those who wait for them to the right, and so on.
import {el, svg} from "./dom.js";
import {empty} from "./page_states.js";
import {printable} from "./printable.js";
import {hrefOf} from "./route.js";
import {count, duration} from "./units.js";
import {layersOf} from "./wait_edges.js";

const NODE = {width: 138, height: 40};
const GAP = {x: 118, y: 12};
const MARGIN = 8;
const MOST_NAMED = 4;
const MOST_ROOTS = 6;

function place(layers) {
  const tallest = Math.max(...layers.map(layer => layer.length));
  const height = tallest * (NODE.height + GAP.y) - GAP.y + 2 * MARGIN;
  layers.forEach((layer, level) => {
    const own = layer.length * (NODE.height + GAP.y) - GAP.y;
    layer.forEach((node, row) => {
      node.x = MARGIN + level * (NODE.width + GAP.x);
      node.y = (height - own) / 2 + row * (NODE.height + GAP.y);
    });
  });
  return {width: layers.length * (NODE.width + GAP.x) - GAP.x + 2 * MARGIN, height};
}

function nodeShape(node, level, job, most) {
  const single = node.ranks.length === 1;
  const title = single ? `rank ${count(node.ranks[0])}` : `${count(node.ranks.length)} more ranks`;
  const below = level === 0 ? "waited for" : `${single ? "waits" : "wait"} ${duration(node.ns)}`;
  const shape = svg(
    "g",
    {class: `graph-node ${level === 0 ? "root" : ""}`, transform: `translate(${node.x} ${node.y})`},
    svg("rect", {width: NODE.width, height: NODE.height, rx: 6}),
    level > 0
      ? svg("rect", {
          class: "share",
          x: 0,
          y: NODE.height - 3,
          height: 3,
          rx: 1.5,
          width: Math.max(2, NODE.width * Math.min(1, node.ns / node.ranks.length / most)),
        })
      : null,
    svg("text", {x: 10, y: 17, class: "graph-name"}, title),
    svg("text", {x: 10, y: 32, class: "graph-time"}, below),
  );
  if (!single) return shape;
  return svg(
    "a",
    {
      href: hrefOf({page: "job", job, tab: "rank", item: node.ranks[0]}),
      "aria-label": `${title}, ${below}`,
    },
    shape,
  );
}

function edgeShape(from, to, width, label) {
  const [x1, y1] = [to.x + NODE.width, to.y + NODE.height / 2];
  const [x2, y2] = [from.x, from.y + NODE.height / 2];
  const middle = (x1 + x2) / 2;
  return svg(
    "path",
    {
      class: "graph-edge",
      d: `M ${x2} ${y2} C ${middle} ${y2} ${middle} ${y1} ${x1 + 6} ${y1}`,
      "stroke-width": width.toFixed(1),
      "marker-end": "url(#arrow)",
    },
    svg("title", null, label),
  );
}

function widths(layers) {
  const all = layers
    .slice(1)
    .flat()
    .map(node => node.ns / node.ranks.length);
  const most = Math.max(...all, 1);
  return {most, of: node => 1 + 3 * (node.ns / node.ranks.length / most)};
}

// Names of communicators above the edges, one a pair of layers.
function labels(layers) {
  return layers.slice(1).map((layer, level) => {
    const names = [...new Set(layer.map(node => node.label).filter(label => label !== ""))];
    if (names.length === 0) return null;
    const text = names.length === 1 ? printable(names[0], 18) : `${names.length} communicators`;
    return svg(
      "text",
      {
        class: "graph-label",
        x: MARGIN + level * (NODE.width + GAP.x) + NODE.width + GAP.x / 2,
        y: 12,
        "text-anchor": "middle",
      },
      text,
    );
  });
}

// "rank 17"; "ranks 4,096, 4,097 and 6 more".
function named(ranks) {
  if (ranks.length === 1) return `rank ${count(ranks[0])}`;
  const shown = ranks.slice(0, ranks.length > MOST_NAMED ? MOST_NAMED - 1 : MOST_NAMED);
  const more = ranks.length - shown.length;
  const names = shown.map(count);
  const last = more > 0 ? `${more} more` : names.pop();
  return `ranks ${names.join(", ")} and ${last}`;
}

// options: {job, roots, cost, empty, atLeast: whether smaller waits were left out}
export function waitGraph(edges, options) {
  if (edges.length === 0 || options.roots.length === 0) return empty(options.empty, "");
  const layers = layersOf(edges, options.roots.slice(0, MOST_ROOTS));
  const {width, height} = place(layers);
  const {most, of} = widths(layers);
  const top = 18;
  const drawn = svg(
    "svg",
    {
      width,
      height: height + top,
      viewBox: `0 ${-top} ${width} ${height + top}`,
      role: "group",
      "aria-label": "Graph of waits: an arrow leads from who waits to who is waited for",
    },
    svg(
      "defs",
      null,
      svg(
        "marker",
        {
          id: "arrow",
          viewBox: "0 0 8 8",
          refX: 7,
          refY: 4,
          markerWidth: 7,
          markerHeight: 7,
          markerUnits: "userSpaceOnUse",
          orient: "auto",
        },
        svg("path", {d: "M 0 0 L 8 4 L 0 8 z", class: "graph-arrow"}),
      ),
    ),
    svg("g", {transform: `translate(0 ${-top})`}, labels(layers)),
    layers
      .slice(1)
      .flatMap((layer, level) =>
        layer.map(node =>
          edgeShape(
            node,
            layers[level][Math.max(0, node.to)],
            of(node),
            `${printable(node.label, 60) || "wait"}: ${duration(node.ns)}`,
          ),
        ),
      ),
    layers.flatMap((layer, level) => layer.map(node => nodeShape(node, level, options.job, most))),
  );
  const waiting = new Set(
    edges.map(edge => edge.from).filter(rank => !options.roots.includes(rank)),
  ).size;
  return el(
    "div",
    null,
    el(
      "p",
      null,
      `${options.atLeast ? "At least " : ""}${count(waiting)} ` +
        `${waiting === 1 ? "rank waits" : "ranks wait"} in the end for ` +
        named(options.roots),
      options.cost ? `; ${options.cost}.` : ".",
    ),
    el(
      "div",
      {
        class: "scroll graph",
        tabindex: "0",
        role: "region",
        "aria-label": "Who waits for whom, as a graph",
      },
      drawn,
    ),
  );
}
