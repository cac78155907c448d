// How the page asks the worker in which the models run.

// A worker made of text: a page opened from a file may not name a file of its own.
export function worker(source) {
  return new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
}

// How much is asked for and has not come yet stands on the page, which at 0 is at rest.
let awaits = 0;
function counted(answer) {
  const count = (more) => {
    document.documentElement.dataset.awaits = awaits += more;
  };
  count(1);
  return answer.finally(() => count(-1));
}

const { src, dataset } = document.currentScript;
const FOLDER = new URL(dataset.models ?? "../live/", src);

// Loads the script of a model, which adds it to `Circuits.models`: a page from a file can load no data.
export async function fetched(name) {
  if (Object.hasOwn(Circuits.models, name)) return;
  const script = document.createElement("script");
  script.src = new URL(`${name}.js`, FOLDER);
  const comes = new Promise((resolve, reject) => {
    script.onload = resolve;
    script.onerror = () => reject(new Error(`The model could not be fetched: ${script.src}`));
    document.head.append(script);
  });
  await counted(comes);
}

// Gives a function whose call with {kind, …} is a promise of the answer.
export function asking(source) {
  const asked = new Map();
  const made = worker(source);
  let count = 0;
  made.onmessage = ({ data: { id, found, error } }) => {
    const { resolve, reject } = asked.get(id);
    asked.delete(id);
    if (error) reject(new Error(error));
    else resolve(found);
  };
  made.onerror = (event) => {
    for (const { reject } of asked.values()) reject(new Error(event.message));
    asked.clear();
  };
  return (request) =>
    counted(
      new Promise((resolve, reject) => {
        asked.set(++count, { resolve, reject });
        made.postMessage({ id: count, ...request });
      }),
    );
}

// What `work` promises, kept in `made` by its name; what failed is begun anew when it is asked for again.
export function once(made, name, work) {
  made[name] ??= work().catch((error) => {
    delete made[name];
    throw error;
  });
  return made[name];
}

// Calls `work` for the latest value only: what comes while it works waits, and replaces what waited.
export function latest(work) {
  let busy = null;
  let waiting = null;
  async function go() {
    try {
      while (waiting) {
        const { value } = waiting;
        waiting = null;
        await work(value);
      }
    } finally {
      busy = null;
    }
  }
  return (value) => {
    waiting = { value };
    busy ??= go();
    return busy;
  };
}
