// The numbers of a heat map, and the order in which its ranks stand. No drawing.

export const ABSENT = -2147483648;

// Plain loops: the callbacks of Int32Array.from cost thirty times as much.
function inOrder(row, order) {
  const values = new Int32Array(order.length);
  for (let place = 0; place < order.length; ++place) values[place] = row[order[place]] ?? ABSENT;
  return values;
}

export class HeatGrid {
  constructor(answer) {
    this.metric = answer.metric;
    this.unit = answer.unit;
    this.ranks = answer.ranks;
    this.roles = answer.roles;
    this.hosts = answer.hosts;
    this.functions = answer.functions;
    this.rows = answer.values.length;
    this.columns = answer.ranks.length;
    this.order = new Int32Array(this.columns).map((_, place) => place);
    this.orderName = "rank";
    this.#source = answer.values.map(row => inOrder(row, this.order));
    this.values = this.#source;
    this.placeOfRank = new Map(this.ranks.map((rank, place) => [rank, place]));
  }

  #source;

  // by: "rank", "worst" (largest value of a rank first) or "host" (hosts with the worst first).
  sort(by) {
    this.orderName = by;
    const places = Array.from({length: this.columns}, (_, place) => place);
    if (by !== "rank") {
      const worst = this.worstByColumn();
      if (by === "worst") places.sort((a, b) => worst[b] - worst[a] || a - b);
      else this.#byHost(places, worst);
    }
    this.order = Int32Array.from(places);
    this.values = this.#source.map(row => inOrder(row, this.order));
  }

  #byHost(places, worst) {
    const ofHost = new Map();
    for (const place of places) {
      const host = this.hosts[place];
      ofHost.set(host, Math.max(ofHost.get(host) ?? -Infinity, worst[place]));
    }
    places.sort(
      (a, b) =>
        ofHost.get(this.hosts[b]) - ofHost.get(this.hosts[a]) ||
        (this.hosts[a] < this.hosts[b] ? -1 : this.hosts[a] > this.hosts[b] ? 1 : a - b),
    );
  }

  worstByColumn() {
    const worst = new Float64Array(this.columns).fill(-Infinity);
    for (const row of this.#source) {
      for (let place = 0; place < row.length; ++place)
        if (row[place] > worst[place]) worst[place] = row[place];
    }
    return worst;
  }

  // Where a rank stands now; -1: it is not there.
  columnOf(rank) {
    const place = this.placeOfRank.get(rank);
    return place === undefined ? -1 : this.order.indexOf(place);
  }

  cell(row, column) {
    const place = this.order[column];
    const value = this.values[row][column];
    return {
      rank: this.ranks[place],
      role: this.roles[place],
      host: this.hosts[place],
      function: this.functions[row],
      value: value === ABSENT ? null : value,
    };
  }

  // The cells that stand out most: none of less than a tenth of the largest.
  largest(most) {
    const found = [];
    let least = -Infinity;
    for (let row = 0; row < this.rows; ++row) {
      const values = this.#source[row];
      for (let place = 0; place < values.length; ++place) {
        if (values[place] <= least || values[place] <= 0) continue;
        found.push({row, place, value: values[place]});
        if (found.length < 4 * most) continue;
        found.sort((a, b) => b.value - a.value);
        found.length = most;
        least = found[most - 1].value;
      }
    }
    found.sort((a, b) => b.value - a.value);
    const enough = (found[0]?.value ?? 0) / 10;
    return found
      .filter(one => one.value >= enough)
      .slice(0, most)
      .map(({row, place, value}) => ({
        rank: this.ranks[place],
        host: this.hosts[place],
        function: this.functions[row],
        value,
      }));
  }

  // What the colours are scaled by. Of excess what is slower: who holds the others up waits much
  // less in collectives than they do, and that would pale all that it does longer.
  sizes() {
    const all = new Int32Array(this.rows * this.columns);
    let next = 0;
    for (const row of this.#source) {
      for (let place = 0; place < row.length; ++place)
        if (row[place] > 0) all[next++] = row[place];
    }
    return all.subarray(0, next);
  }
}
