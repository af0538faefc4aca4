// Who waited for whom, as edges {from, to, ns, label}: from waits for to. Pure functions.

// What people call a communicator, by its id: "TENSOR_MODEL_PARALLEL_GROUP" says more than "12".
export function communicatorNames({communicators}) {
  return new Map(communicators.map(one => [one.communicator, one.description || one.name]));
}

export function waitEdges({waits}, names) {
  const merged = new Map();
  for (const wait of waits) {
    const key = `${wait.waiting} ${wait.waited_for}`;
    const label = names.get(wait.communicator) || wait.communicator;
    const held = merged.get(key);
    if (!held) {
      merged.set(key, {from: wait.waiting, to: wait.waited_for, ns: wait.wait_ns, label});
    } else {
      held.ns += wait.wait_ns;
      if (held.label !== label) held.label = "several communicators";
    }
  }
  return [...merged.values()]
    .filter(edge => edge.ns > 0 && edge.from !== edge.to)
    .sort((a, b) => b.ns - a.ns);
}

// What a finding itself names: each rank of its chain waits for the culprit.
export function chainEdges(finding, roots) {
  const root = roots[0] ?? -1;
  return (finding.chain ?? [])
    .filter(effect => effect.rank >= 0 && effect.rank !== root && root >= 0)
    .map(effect => ({from: effect.rank, to: root, ns: effect.lost_ns, label: ""}));
}

// Only waits that lead to the roots in the end.
export function connectedWaits(edges, roots) {
  const byTarget = new Map();
  for (const edge of edges) {
    if (!byTarget.has(edge.to)) byTarget.set(edge.to, []);
    byTarget.get(edge.to).push(edge);
  }
  const reached = new Set(roots);
  const open = [...roots];
  const kept = [];
  while (open.length > 0) {
    for (const edge of byTarget.get(open.pop()) ?? []) {
      kept.push(edge);
      if (reached.has(edge.from)) continue;
      reached.add(edge.from);
      open.push(edge.from);
    }
  }
  return kept.sort((a, b) => b.ns - a.ns);
}

// Those who are waited for by much more than they wait themselves, most first.
export function rootsOf(edges, most = 3) {
  const balance = new Map();
  for (const {from, to, ns} of edges) {
    balance.set(to, (balance.get(to) ?? 0) + ns);
    balance.set(from, (balance.get(from) ?? 0) - ns);
  }
  const ranked = [...balance].filter(([, ns]) => ns > 0).sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  const enough = (ranked[0]?.[1] ?? 0) * 0.25;
  return ranked
    .filter(([, ns]) => ns >= enough)
    .slice(0, most)
    .map(([rank]) => rank);
}

// Layers away from the roots: [[{ranks, ns, edges}]]. Of each layer the largest stand alone, the
// rest is folded into one node, so that 10,000 ranks make no more nodes than 20 do.
export function layersOf(edges, roots, {alone = 6, deepest = 4} = {}) {
  const layers = [roots.map(rank => ({ranks: [rank], ns: 0, to: null, label: ""}))];
  const depth = new Map(roots.map(rank => [rank, 0]));
  for (let level = 1; level < deepest; ++level) {
    const best = new Map();
    for (const edge of edges) {
      if (depth.get(edge.to) !== level - 1 || depth.has(edge.from)) continue;
      const held = best.get(edge.from);
      if (!held || edge.ns > held.ns) best.set(edge.from, edge);
    }
    if (best.size === 0) break;
    for (const rank of best.keys()) depth.set(rank, level);
    layers.push(fold([...best.values()], layers[level - 1], alone));
  }
  return layers;
}

function fold(edges, before, alone) {
  const sorted = edges.sort((a, b) => b.ns - a.ns || a.from - b.from);
  const holder = rank => before.findIndex(node => node.ranks.includes(rank));
  const single = sorted.length <= alone + 1 ? sorted : sorted.slice(0, alone);
  const nodes = single.map(edge => ({
    ranks: [edge.from],
    ns: edge.ns,
    to: holder(edge.to),
    label: edge.label,
  }));
  const groups = new Map();
  for (const edge of sorted.slice(single.length)) {
    const to = holder(edge.to);
    if (!groups.has(to)) groups.set(to, {ranks: [], ns: 0, to, label: edge.label});
    const group = groups.get(to);
    group.ranks.push(edge.from);
    group.ns += edge.ns;
    if (group.label !== edge.label) group.label = "";
  }
  return [...nodes, ...groups.values()];
}
