// The label of a function in a list: its name, and where several have the same name, its caller
// before it: "load_batch › <built-in function read>".

function callerOf({stack}) {
  const caller = stack.split(" > ").at(-1);
  return caller.slice(caller.lastIndexOf(": ") + 1).trim();
}

// functions: all of the list. By id.
export function functionLabels(functions) {
  const named = new Map();
  for (const one of functions) named.set(one.name, (named.get(one.name) ?? 0) + 1);
  return new Map(
    functions.map(one => {
      const caller = named.get(one.name) > 1 ? callerOf(one) : "";
      return [one.function, caller === "" ? one.name : `${caller} › ${one.name}`];
    }),
  );
}
