// What the page knows of a result: its schemes by role, its contexts by name.

/** One comparison, with the answers that several pictures need. */
function understand(result, looks = {}) {
  const schemes = result.schemes;
  const named = (name) => schemes.find((scheme) => scheme.name === name) ?? null;
  const answer = result.verdict;
  const [before, best] = [named(answer.before), named(answer.best)];
  const contexts = result.details?.contexts ?? [];
  return {
    result, schemes, answer, looks, before: before ?? schemes[0] ?? null, best, contexts,
    chosen: best ?? before ?? schemes[0] ?? null,
    hasTime: schemes.some((scheme) => scheme.time),
    hasDetails: schemes.some((scheme) => scheme.details),
    name: contextNames(contexts),
  };
}

/** A C++ function without its parameters; anything else as it is. */
function withoutParameters(call) {
  const name = call.split("(")[0];
  return name === "" ? call : name;
}

const KINDS = {
  unknown: "(unknown)", folded: "(rare stacks)", journal: "(journal)", metadata: "(metadata)",
  kernel: "(kernel)",
};

/** A function from a context's number to what it is called. */
function contextNames(contexts) {
  const names = new Map(contexts.map((context) => [context.id, context.label || KINDS[context.kind] || context.role]));
  return (id) => names.get(id) || (id === 0 ? "writer not known" : `context ${id}`);
}

/** Everything that decided a result, with dotted keys. */
function settings(result) {
  const flat = {};
  const walk = (key, value) => {
    if (value !== null && typeof value === "object" && !Array.isArray(value)) {
      for (const [name, inner] of Object.entries(value)) walk(`${key}.${name}`, inner);
    } else {
      flat[key] = Array.isArray(value) ? value.join(" ") : value;
    }
  };
  // Of the drive's options each is a setting: pairs of a name and a value.
  const { drive_options: options = [], ...config } = result.config;
  for (let at = 0; at + 1 < options.length; at += 2) flat[`option.${options[at].replace(/^--/, "")}`] = options[at + 1];
  walk("config", config);
  walk("device", result.device);
  flat.seed = result.seed;
  return flat;
}

/** The stream a scheme gave most of a context. */
function streamsOf(scheme) {
  const streams = new Map();
  for (const each of scheme?.details?.placements ?? []) streams.set(each.context, each);
  return streams;
}

/** What a picture needs that a plain result has not, in words. */
const MISSING = "The result was made without details, or had to lose them for the page to stay small. To see this picture: "
  + "anabranch replay TRACE --details -o RESULT.json";

/** The width of a lifetime class: where it begins, in bytes. */
function classStart(number, pageBytes) {
  return number === 0 ? pageBytes / 2 : 2 ** (number / 2) * pageBytes;
}
