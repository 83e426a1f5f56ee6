// A picture with its words, and its numbers behind a click.

// No picture is narrower; a page that is being laid out may be, for a moment.
const LEAST_WIDTH = 80;

// What is drawn anew when the page's width or its colours change.
const drawn = [];

/** Calls `draw(container, width)` now and whenever width or theme change. */
function live(container, draw) {
  let width = 0;
  const again = (force) => {
    const now = container.clientWidth;
    if (now < LEAST_WIDTH || (now === width && !force)) return;
    width = now;
    draw(container, now);
  };
  drawn.push(again);
  new ResizeObserver(() => again(false)).observe(container);
}

/** Draws everything at once, as before a page is printed. */
function redraw() {
  drawn.forEach((again) => again(true));
}

/** Calls `again` when the page gets other colours. */
function watchTheme(again) {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  matchMedia("print").addEventListener("change", again);
}

/** The numbers of a picture, made when they are first asked for. */
function numbers(name, makeColumns, makeRows, options) {
  const details = html("details", { class: "numbers" }, html("summary", null, "The numbers"));
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1) {
      details.append(dataTable(name, makeColumns(), makeRows(), { filter: true, ...options }));
    }
  });
  return details;
}

/** A section of the page. */
function figure(id, title, words, ...content) {
  const heading = html("h2", { id: `${id}-title` }, title);
  return html("section", { class: "figure", id, "aria-labelledby": `${id}-title` },
    heading, html("p", null, words), ...content);
}

/** The page's contents: a link to each section. */
function contents(sections) {
  const links = sections.map((section) => html("a", { href: `#${section.id}` }, section.querySelector("h2").textContent));
  return html("nav", { class: "contents", "aria-label": "contents" }, links);
}

/** The place a picture is drawn in, with words for those who do not see it. */
function plot(label, draw, role = "img") {
  const container = html("div", { class: "plot", role, "aria-label": label });
  live(container, (place, width) => {
    place.replaceChildren();
    draw(place, width);
  });
  return container;
}
