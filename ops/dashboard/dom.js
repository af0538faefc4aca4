// Makes elements. Text from outside only ever becomes text nodes and attributes, never markup.

const SVG = "http://www.w3.org/2000/svg";

function apply(node, attributes) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") {
      for (const [type, listener] of Object.entries(value)) node.addEventListener(type, listener);
    } else if (name === "style") {
      for (const [property, text] of Object.entries(value)) node.style.setProperty(property, text);
    } else if (name === "value" || name === "checked" || name === "disabled") {
      node[name] = value;
    } else {
      node.setAttribute(name, value === true ? "" : String(value));
    }
  }
}

function append(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : String(child));
  }
  return node;
}

// el("a", {class: "quiet", href: "#/jobs"}, "Jobs")
export function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  apply(node, attributes);
  return append(node, children);
}

export function svg(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  apply(node, attributes);
  return append(node, children);
}

export function replace(node, ...children) {
  node.replaceChildren();
  return append(node, children);
}

let lastId = 0;
export function freshId(prefix) {
  lastId += 1;
  return `${prefix}-${lastId}`;
}

// The head of a table. columns: [{title, class}]; one without a title has nothing to head.
export function tableHead(columns) {
  return el(
    "thead",
    null,
    el(
      "tr",
      null,
      columns.map(({title, class: kind}) =>
        title === "" ? el("td", {class: kind}) : el("th", {scope: "col", class: kind}, title),
      ),
    ),
  );
}

// A table whose cells are nodes or text. columns: [{title, class}].
// kind "blocks": on a phone each row becomes a block, its numbers with their titles.
export function table(caption, columns, rows, kind = "") {
  return el(
    "table",
    {class: `grid ${kind}`},
    el("caption", {class: "unseen"}, caption),
    tableHead(columns),
    el(
      "tbody",
      null,
      rows.map(cells =>
        el(
          "tr",
          null,
          cells.map((cell, place) =>
            el("td", {class: columns[place].class, "data-title": columns[place].title}, cell),
          ),
        ),
      ),
    ),
  );
}
