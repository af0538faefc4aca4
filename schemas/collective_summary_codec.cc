#include <algorithm>

#include "schemas/wire_codec.h"

namespace eroica {
namespace {

flatbuffers::Offset<wire::MemberSummary> WriteMember(const MemberSummary& member,
                                                     WireWriter& writer) {
  const auto late_steps = writer.Scalars<int64_t>(member.late_steps.size(),
                                                  [&](size_t i) { return member.late_steps[i]; });
  const auto blockers = writer.Tables<wire::Blocker>(member.blockers, [&](const Blocker& row) {
    const auto name = writer.Text(row.name);
    const auto stack = writer.Text(row.stack, CodecLimits::kTextBytes);
    return wire::CreateBlocker(writer.builder(), row.function.value, name, stack, row.count,
                               row.caused_wait_ns, row.run_ns);
  });
  wire::MemberSummaryBuilder table(writer.builder());
  table.add_rank(member.rank.value);
  table.add_count(member.count);
  table.add_wait_ns(member.wait_ns);
  table.add_exposed_wait_ns(member.exposed_wait_ns);
  table.add_last_count(member.last_count);
  table.add_lateness_ns(member.lateness_ns);
  table.add_caused_wait_ns(member.caused_wait_ns);
  table.add_late_steps(late_steps);
  table.add_blockers(blockers);
  table.add_incomplete(member.incomplete);
  return table.Finish();
}

void ReadMember(const wire::MemberSummary& from, WireReader& reader, MemberSummary* to) {
  to->rank = RankId(from.rank());
  to->count = from.count();
  to->wait_ns = from.wait_ns();
  to->exposed_wait_ns = from.exposed_wait_ns();
  to->last_count = from.last_count();
  to->lateness_ns = from.lateness_ns();
  to->caused_wait_ns = from.caused_wait_ns();
  const auto late_steps = reader.Scalars(from.late_steps(), CodecLimits::kPatterns);
  to->late_steps.assign(late_steps.begin(), late_steps.end());
  to->blockers.resize(reader.Rows(from.blockers(), CodecLimits::kPatterns));
  for (uint32_t i = 0; i < to->blockers.size(); ++i) {
    const wire::Blocker& row = *from.blockers()->Get(i);
    Blocker& blocker = to->blockers[i];
    blocker.function = FunctionId(row.function_hash());
    reader.Text(row.name(), &blocker.name);
    reader.Text(row.stack(), &blocker.stack, CodecLimits::kTextBytes);
    blocker.count = row.count();
    blocker.caused_wait_ns = row.caused_wait_ns();
    blocker.run_ns = row.run_ns();
  }
  to->incomplete = from.incomplete();
}

wire::PairSummary PackPair(const PairSummary& pair) {
  return {pair.count,     pair.receive_wait_ns, pair.send_wait_ns,
          pair.unmatched, pair.source.value,    pair.destination.value};
}

PairSummary UnpackPair(const wire::PairSummary& pair) {
  return {.source = RankId(pair.source()),
          .destination = RankId(pair.destination()),
          .count = pair.count(),
          .receive_wait_ns = pair.receive_wait_ns(),
          .send_wait_ns = pair.send_wait_ns(),
          .unmatched = pair.unmatched()};
}

}  // namespace

void Write(const CollectiveSummary& summary, WireWriter& writer) {
  const auto job = writer.Text(summary.job.value);
  const auto name = writer.Text(summary.communicator_name);
  const auto description = writer.Text(summary.communicator_description);
  const auto members = writer.Tables<wire::MemberSummary>(
      summary.members, [&](const MemberSummary& row) { return WriteMember(row, writer); });
  const auto pairs = writer.Structs<wire::PairSummary>(summary.pairs, PackPair);
  const bool moved = std::ranges::any_of(
      summary.pairs, [](const PairSummary& pair) { return pair.transfer_ns > 0; });
  const auto transfers = writer.Scalars<int64_t>(
      moved ? summary.pairs.size() : 0, [&](size_t i) { return summary.pairs[i].transfer_ns; });
  const auto missing = writer.Scalars<uint32_t>(summary.missing.size(),
                                                [&](size_t i) { return summary.missing[i].value; });
  const wire::Window window = WindowToWire(summary.window);

  wire::CollectiveSummaryBuilder table(writer.builder());
  table.add_job(job);
  table.add_communicator(summary.communicator.value);
  table.add_communicator_name(name);
  table.add_communicator_description(description);
  table.add_world_size(summary.world_size);
  table.add_window(&window);
  table.add_members(members);
  table.add_pairs(pairs);
  table.add_operations(summary.operations);
  table.add_incomplete(summary.incomplete);
  table.add_transfer_ns(summary.transfer_ns);
  table.add_bytes(summary.bytes);
  table.add_missing(missing);
  table.add_steps(summary.steps);
  table.add_pair_transfer_ns(transfers);
  wire::FinishCollectiveSummaryBuffer(writer.builder(), table.Finish());
}

void Read(const wire::CollectiveSummary& from, WireReader& reader, CollectiveSummary* to) {
  reader.Text(from.job(), &to->job.value);
  to->communicator = CommId(from.communicator());
  reader.Text(from.communicator_name(), &to->communicator_name);
  reader.Text(from.communicator_description(), &to->communicator_description);
  to->world_size = from.world_size();
  to->window = WindowFromWire(from.window());
  to->members.resize(reader.Rows(from.members(), CodecLimits::kRanks));
  for (uint32_t i = 0; i < to->members.size(); ++i)
    ReadMember(*from.members()->Get(i), reader, &to->members[i]);
  const auto pairs = reader.Structs(from.pairs(), CodecLimits::kRanks);
  to->pairs.resize(pairs.size());
  for (size_t i = 0; i < pairs.size(); ++i) to->pairs[i] = UnpackPair(pairs[i]);
  const auto transfers = reader.Scalars(from.pair_transfer_ns(), CodecLimits::kRanks);
  for (size_t i = 0; i < std::min(pairs.size(), transfers.size()); ++i)
    to->pairs[i].transfer_ns = transfers[i];
  to->operations = from.operations();
  to->incomplete = from.incomplete();
  to->transfer_ns = from.transfer_ns();
  to->bytes = from.bytes();
  const auto missing = reader.Scalars(from.missing(), CodecLimits::kRanks);
  to->missing.resize(missing.size());
  for (size_t i = 0; i < missing.size(); ++i) to->missing[i] = RankId(missing[i]);
  to->steps = from.steps();
}

}  // namespace eroica
