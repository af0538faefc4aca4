// /v1/jobs/{job}/communicators and waits: who waited for whom.
#include <algorithm>
#include <cmath>

#include "ops/rest/problem.h"
#include "ops/rest/resources/answer.h"
#include "ops/rest/resources/job_lookup.h"
#include "ops/rest/resources/resource.h"
#include "ops/rest/resources/routes.h"

namespace eroica {
namespace {

constexpr size_t kIdDigits = 16;

Json CulpritJson(const CommunicatorSnapshot& communicator) {
  const auto culprit =
      std::ranges::max_element(communicator.members, {}, &MemberRow::caused_wait_ns);
  if (culprit == communicator.members.end() || culprit->caused_wait_ns == 0) return nullptr;
  return {{"rank", culprit->rank},
          {"arrived_last", culprit->arrived_last},
          {"caused_wait_ns", culprit->caused_wait_ns}};
}

Json CommunicatorJson(const CommunicatorSnapshot& communicator) {
  return {{"communicator", HexOf(communicator.id.value)}, {"name", communicator.name},
          {"description", communicator.description},      {"members", communicator.members.size()},
          {"missing", communicator.missing.size()},       {"operations", communicator.operations},
          {"incomplete", communicator.incomplete},        {"bytes", communicator.bytes},
          {"transfer_ns", communicator.transfer_ns},      {"wait_ns", communicator.wait_ns()},
          {"culprit", CulpritJson(communicator)}};
}

HttpResponse ListCommunicators(const RestSources& sources, const HttpRequest& request,
                               Parameters& parameters) {
  const JobWindowParameters asked = ReadJobWindow(parameters);
  const Page page = ReadPage(parameters);
  if (auto refused = parameters.Refuse()) return *refused;
  const absl::StatusOr<ShownWindow> shown = FindShown(sources, asked);
  if (!shown.ok()) return Problem(shown.status(), request.target);
  const auto& communicators = shown->window->detail->communicators;
  std::vector<std::string> keys;
  for (const CommunicatorSnapshot& one : communicators) keys.push_back(HexOf(one.id.value));
  PageOfItems taken =
      TakePage(keys, page, [&](size_t place) { return CommunicatorJson(communicators[place]); });
  return AnswerOf(*shown, {{"communicators", std::move(taken.items)},
                           {"next_cursor", std::move(taken.next_cursor)}});
}

Json MembersJson(const CommunicatorSnapshot& communicator) {
  Json members{{"rank", Json::array()},           {"operations", Json::array()},
               {"wait_ns", Json::array()},        {"exposed_wait_ns", Json::array()},
               {"arrived_last", Json::array()},   {"lateness_ns", Json::array()},
               {"caused_wait_ns", Json::array()}, {"blocker", Json::array()}};
  for (const MemberRow& member : communicator.members) {
    members["rank"].push_back(member.rank);
    members["operations"].push_back(member.operations);
    members["wait_ns"].push_back(member.wait_ns);
    members["exposed_wait_ns"].push_back(member.exposed_wait_ns);
    members["arrived_last"].push_back(member.arrived_last);
    members["lateness_ns"].push_back(member.lateness_ns);
    members["caused_wait_ns"].push_back(member.caused_wait_ns);
    members["blocker"].push_back(member.blocker);
  }
  return members;
}

HttpResponse ShowCommunicator(const RestSources& sources, const HttpRequest& request,
                              Parameters& parameters) {
  const JobWindowParameters asked = ReadJobWindow(parameters);
  const CommId id(parameters.HexName("communicator", kIdDigits));
  if (auto refused = parameters.Refuse()) return *refused;
  const absl::StatusOr<ShownWindow> shown = FindShown(sources, asked);
  if (!shown.ok()) return Problem(shown.status(), request.target);
  const auto& communicators = shown->window->detail->communicators;
  const auto communicator = std::ranges::find(communicators, id, &CommunicatorSnapshot::id);
  if (communicator == communicators.end())
    return Problem(ProblemType::kNotFound, "the window holds no such communicator", request.target);
  return AnswerOf(*shown, {{"communicator", CommunicatorJson(*communicator)},
                           {"missing_ranks", communicator->missing},
                           {"members", MembersJson(*communicator)}});
}

struct Wait {
  uint32_t waiting = 0;
  uint32_t waited_for = 0;
  int64_t wait_ns = 0;
  const CommunicatorSnapshot* communicator = nullptr;
  bool point_to_point = false;
};

// The waits of a collective's members, each shared out among those that arrived last, by the waits
// that each of them caused. Those that caused the most are named; what the others caused is counted
// as left out.
void AddCollectiveWaits(const CommunicatorSnapshot& communicator, std::vector<Wait>* waits,
                        size_t* omitted) {
  constexpr size_t kCulpritsMax = 16;
  std::vector<const MemberRow*> culprits;
  double caused = 0;
  for (const MemberRow& member : communicator.members) {
    if (member.caused_wait_ns <= 0) continue;
    culprits.push_back(&member);
    caused += static_cast<double>(member.caused_wait_ns);
  }
  std::ranges::stable_sort(culprits, std::greater<>(), &MemberRow::caused_wait_ns);
  if (culprits.size() > kCulpritsMax) {
    *omitted += (culprits.size() - kCulpritsMax) * (communicator.members.size() - 1);
    culprits.resize(kCulpritsMax);
  }
  for (const MemberRow* culprit : culprits) {
    const double share = static_cast<double>(culprit->caused_wait_ns) / caused;
    for (const MemberRow& member : communicator.members) {
      if (member.rank == culprit->rank || member.exposed_wait_ns <= 0) continue;
      waits->push_back(
          {.waiting = member.rank,
           .waited_for = culprit->rank,
           .wait_ns = std::llround(static_cast<double>(member.exposed_wait_ns) * share),
           .communicator = &communicator,
           .point_to_point = false});
    }
  }
}

void AddPairWaits(const CommunicatorSnapshot& communicator, std::vector<Wait>* waits) {
  const auto add = [&](RankId waiting, RankId waited_for, int64_t wait_ns) {
    if (wait_ns <= 0) return;
    waits->push_back({.waiting = waiting.value,
                      .waited_for = waited_for.value,
                      .wait_ns = wait_ns,
                      .communicator = &communicator,
                      .point_to_point = true});
  };
  for (const PairSummary& pair : communicator.pairs) {
    add(pair.destination, pair.source, pair.receive_wait_ns);
    add(pair.source, pair.destination, pair.send_wait_ns);
  }
}

HttpResponse ShowWaits(const RestSources& sources, const HttpRequest& request,
                       Parameters& parameters) {
  constexpr int64_t kWaitsMax = 5'000;
  const JobWindowParameters asked = ReadJobWindow(parameters);
  const auto limit = static_cast<size_t>(parameters.Integer("limit", 500, 1, kWaitsMax));
  if (auto refused = parameters.Refuse()) return *refused;
  const absl::StatusOr<ShownWindow> shown = FindShown(sources, asked);
  if (!shown.ok()) return Problem(shown.status(), request.target);
  std::vector<Wait> waits;
  size_t omitted = 0;
  for (const CommunicatorSnapshot& communicator : shown->window->detail->communicators) {
    AddCollectiveWaits(communicator, &waits, &omitted);
    AddPairWaits(communicator, &waits);
    // Only the largest are shown: the others need not pile up.
    if (waits.size() <= 4 * static_cast<size_t>(kWaitsMax)) continue;
    std::ranges::nth_element(waits, waits.begin() + kWaitsMax, std::greater<>(), &Wait::wait_ns);
    omitted += waits.size() - static_cast<size_t>(kWaitsMax);
    waits.resize(static_cast<size_t>(kWaitsMax));
  }
  std::ranges::stable_sort(waits, std::greater<>(), &Wait::wait_ns);
  omitted += waits.size() - std::min(waits.size(), limit);
  waits.resize(std::min(waits.size(), limit));
  Json rows = Json::array();
  for (const Wait& wait : waits) {
    rows.push_back({{"waiting", wait.waiting},
                    {"waited_for", wait.waited_for},
                    {"wait_ns", wait.wait_ns},
                    {"communicator", HexOf(wait.communicator->id.value)},
                    {"point_to_point", wait.point_to_point}});
  }
  return AnswerOf(*shown, {{"waits", std::move(rows)}, {"omitted", omitted}});
}

}  // namespace

void AddCommunicatorRoutes(Router& router, const RestSources& sources) {
  AddResource(router, sources, "/v1/jobs/{job}/communicators", ListCommunicators);
  AddResource(router, sources, "/v1/jobs/{job}/communicators/{communicator}", ShowCommunicator);
  AddResource(router, sources, "/v1/jobs/{job}/waits", ShowWaits);
}

}  // namespace eroica
