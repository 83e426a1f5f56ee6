// Elements. Text becomes text nodes only: nothing from a result is ever read as markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, properties, children) {
  for (const [key, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(key, value);
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  for (const child of children.flat(3)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

/** An HTML element: attributes, listeners (functions) and children. */
function html(tag, properties, ...children) {
  return fill(document.createElement(tag), properties, children);
}

/** An SVG element. */
function svg(tag, properties, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

/** A button that copies text, where the browser lets a page do so. */
function copyButton(text) {
  const button = html("button", { type: "button", class: "copy" }, "copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "copied";
    } catch {
      // A page opened from a file may not: the command is selected, to be copied by hand.
      getSelection().selectAllChildren(button.previousElementSibling);
      button.textContent = "selected";
    }
  });
  return button;
}

/** A row of buttons of which one is pressed. */
function choice(label, options, chosen, onChoose) {
  const group = html("div", { class: "choice", role: "group", "aria-label": label });
  for (const [key, words] of options) {
    const button = html("button", { type: "button", "aria-pressed": String(key === chosen) }, words);
    button.addEventListener("click", () => {
      for (const other of group.children) other.setAttribute("aria-pressed", String(other === button));
      onChoose(key);
    });
    group.append(button);
  }
  return group;
}

/** A list to choose from. */
function selection(label, options, chosen, onChoose) {
  const select = html("select", { "aria-label": label });
  for (const [key, words] of options) {
    select.append(html("option", { value: key, selected: key === chosen }, words));
  }
  select.addEventListener("change", () => onChoose(select.value));
  return html("label", null, label, select);
}
