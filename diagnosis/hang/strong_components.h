// The strongly connected components of a directed graph, by Tarjan's algorithm without recursion:
// as deep as the graph wants to be.
#pragma once

#include <cstdint>
#include <vector>

namespace eroica {

// edges[v]: where the edges of v lead. Answers the component of each node; components are numbered
// from 0, and edges lead into the own component or into one with a smaller number.
std::vector<uint32_t> StrongComponents(const std::vector<std::vector<uint32_t>>& edges);

}  // namespace eroica
