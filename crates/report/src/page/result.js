// What the page knows of a result: its schemes by role, its contexts by name.

/** One comparison, with the answers that several pictures need. */
function understand(result) {
  const schemes = result.schemes;
  const named = (name) => schemes.find((scheme) => scheme.name === name) ?? null;
  const baseline = named("baseline");
  const before = baseline ?? named("baseline+gc") ?? schemes[0] ?? null;
  const isBaseline = (scheme) => scheme.name === "baseline" || scheme.name === "baseline+gc";
  const rivals = schemes.filter((scheme) => !isBaseline(scheme) && !scheme.is_bound && scheme.waf !== null);
  const best = rivals.reduce((least, scheme) => (least && least.waf <= scheme.waf ? least : scheme), null);
  const contexts = result.details?.contexts ?? [];
  return {
    result, schemes, baseline, before, best, contexts,
    gc: named("baseline+gc"),
    chosen: best ?? before,
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

/** The class and the function of a qualified name. */
function shortCall(call) {
  const name = withoutParameters(call).split("<")[0];
  return name.split("::").slice(-2).join("::") || call;
}

const KINDS = {
  unknown: "(unknown)", folded: "(rare stacks)", journal: "(journal)", metadata: "(metadata)",
  kernel: "(kernel)",
};

/** A function from a context's number to its name: its role, and the calls that tell it apart. */
function contextNames(contexts) {
  const uses = new Map();
  for (const context of contexts) {
    for (const call of new Set(context.path)) uses.set(call, (uses.get(call) ?? 0) + 1);
  }
  const names = new Map();
  for (const context of contexts) {
    const telling = context.path.filter((call) => !call.includes("+0x") && uses.get(call) * 2 <= contexts.length);
    const calls = [...new Set(telling.map(shortCall))];
    const shown = calls.length > 3 ? [calls[0], ...calls.slice(-2)] : calls;
    const words = [context.role, KINDS[context.kind] ?? "", shown.join(" < ")].filter((part) => part !== "");
    names.set(context.id, words.join(" ") || (context.id === 0 ? "(unknown)" : `context ${context.id}`));
  }
  return (id) => names.get(id) ?? (id === 0 ? "(unknown)" : `context ${id}`);
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
  walk("config", result.config);
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
