// Elements of the page, made by functions.

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

// The namespace of SVG, read from the browser. Written out, it would look like the address of a
// file, and this page loads no other file.
const SVG_SPACE = (() => {
  const template = document.createElement("template");
  template.innerHTML = "<svg></svg>";
  return template.content.firstChild.namespaceURI;
})();

function svgElement(name, attributes = {}, ...children) {
  const made = document.createElementNS(SVG_SPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// Puts a space that does not break between a number and its unit.
const unbroken = (text) =>
  text.replace(/(\d) (?=(?:%|[kMG]?bit\/s|[kMG]?B|[mµu]?s)(?![A-Za-z]))/g, "$1\u00a0");

// Returns the nodes of a text. Each name in backticks becomes a code element.
function prose(text) {
  return unbroken(text).split("`").map((part, place) => (place % 2 === 1 ? element("code", {}, part) : part));
}

// Returns the text without backticks, for places that take no elements, such as canvases and
// titles.
const plain = (text) => text.replaceAll("`", "");

// A list of names and values.
function pairsList(pairs, attributes = {}) {
  const list = element("dl", attributes);
  for (const [name, value] of pairs) list.append(element("dt", {}, name), element("dd", {}, value));
  return list;
}
