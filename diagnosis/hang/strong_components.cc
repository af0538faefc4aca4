#include "diagnosis/hang/strong_components.h"

#include <algorithm>
#include <limits>

namespace eroica {
namespace {

constexpr uint32_t kUnknown = std::numeric_limits<uint32_t>::max();

struct Search {
  explicit Search(const std::vector<std::vector<uint32_t>>& graph)
      : edges(graph),
        number(graph.size(), kUnknown),
        low(graph.size(), 0),
        component(graph.size(), kUnknown) {}

  void Visit(uint32_t node) {
    number[node] = low[node] = count++;
    open.push_back(node);
    path.push_back({node, 0});
  }

  // The node's edges are all followed: it closes its component, or tells the node before it how far
  // back it reaches.
  void Leave(uint32_t node) {
    path.pop_back();
    if (!path.empty()) low[path.back().node] = std::min(low[path.back().node], low[node]);
    if (low[node] != number[node]) return;
    uint32_t member = kUnknown;
    do {
      member = open.back();
      open.pop_back();
      component[member] = components;
    } while (member != node);
    ++components;
  }

  void RunFrom(uint32_t start) {
    Visit(start);
    while (!path.empty()) {
      const uint32_t node = path.back().node;
      if (path.back().next == edges[node].size()) {
        Leave(node);
        continue;
      }
      const uint32_t target = edges[node][path.back().next++];
      if (number[target] == kUnknown) {
        Visit(target);
      } else if (component[target] == kUnknown) {
        low[node] = std::min(low[node], number[target]);
      }
    }
  }

  struct Place {
    uint32_t node;
    size_t next;  // of its edges
  };
  const std::vector<std::vector<uint32_t>>& edges;
  std::vector<uint32_t> number;  // in the order of visiting
  // the smallest number that the node reaches among those whose component is open
  std::vector<uint32_t> low;
  std::vector<uint32_t> component;
  std::vector<uint32_t> open;
  std::vector<Place> path;
  uint32_t count = 0;
  uint32_t components = 0;
};

}  // namespace

std::vector<uint32_t> StrongComponents(const std::vector<std::vector<uint32_t>>& edges) {
  Search search(edges);
  for (uint32_t node = 0; node < edges.size(); ++node) {
    if (search.number[node] == kUnknown) search.RunFrom(node);
  }
  return std::move(search.component);
}

}  // namespace eroica
