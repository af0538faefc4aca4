#include "schemas/progress_rows.h"
#include "schemas/wire_codec.h"

namespace eroica {

void Write(const RankStanding& standing, WireWriter& writer) {
  const auto job = writer.Text(standing.job.value);
  const auto host = writer.Text(standing.host);
  const auto function = writer.Text(standing.function);
  const auto stack = writer.Text(standing.stack, CodecLimits::kTextBytes);
  const auto communicators = WriteCommunicators(standing.communicators, writer);
  const auto in_flight = WriteInFlight(standing.in_flight, writer);
  const auto operations = WriteOperations(standing.operations, writer);
  const auto sides = WriteSides(standing.in_flight, writer);
  const auto connections = WriteConnections(standing.connections, writer);

  wire::RankStandingBuilder table(writer.builder());
  table.add_job(job);
  table.add_rank(standing.rank.value);
  table.add_world_size(standing.world_size);
  table.add_host(host);
  table.add_device(standing.device);
  table.add_pid(standing.pid);
  table.add_time_ns(standing.time_ns);
  table.add_last_progress_ns(standing.last_progress_ns);
  table.add_timed_out(standing.timed_out);
  table.add_pause(static_cast<uint8_t>(standing.pause));
  table.add_window_kind(static_cast<uint8_t>(standing.window_kind));
  table.add_window_index(standing.window_index);
  table.add_step(standing.step);
  table.add_last_step(standing.last_step);
  table.add_step_mean_ns(standing.step_mean_ns);
  table.add_function(function);
  table.add_stack(stack);
  table.add_function_class(static_cast<uint8_t>(standing.function_class));
  table.add_communicators(communicators);
  table.add_in_flight(in_flight);
  table.add_operations(operations);
  table.add_connections(connections);
  table.add_collectives_suspended(standing.collectives_suspended);
  table.add_starts_unknown(standing.starts_unknown);
  table.add_moment_unknown(standing.moment_unknown);
  table.add_in_flight_side(sides);
  if (standing.end) {
    table.add_process_ended(true);
    table.add_exit_code(standing.end->exit_code);
    table.add_exit_signal(standing.end->signal);
    table.add_process_started_ns(standing.end->started_ns);
    table.add_out_of_memory(standing.end->out_of_memory);
    if (const std::optional<JobFailure>& failure = standing.end->job_failure) {
      table.add_job_failed(true);
      table.add_launcher_exit_code(failure->exit_code);
      table.add_launcher_signal(failure->signal);
      table.add_ended_together(failure->ranks);
      table.add_ended_within_ns(failure->within_ns);
      table.add_others_untold(failure->others_untold);
    }
  }
  wire::FinishRankStandingBuffer(writer.builder(), table.Finish());
}

static std::optional<JobFailure> FailureOf(const wire::RankStanding& from) {
  if (!from.job_failed()) return std::nullopt;
  return JobFailure{.exit_code = from.launcher_exit_code(),
                    .signal = from.launcher_signal(),
                    .ranks = from.ended_together(),
                    .within_ns = from.ended_within_ns(),
                    .others_untold = from.others_untold()};
}

void Read(const wire::RankStanding& from, WireReader& reader, RankStanding* to) {
  reader.Text(from.job(), &to->job.value);
  to->rank = RankId(from.rank());
  to->world_size = from.world_size();
  reader.Text(from.host(), &to->host);
  to->device = from.device();
  to->pid = from.pid();
  to->time_ns = from.time_ns();
  to->last_progress_ns = from.last_progress_ns();
  to->timed_out = from.timed_out();
  to->collectives_suspended = from.collectives_suspended();
  to->starts_unknown = from.starts_unknown();
  to->moment_unknown = from.moment_unknown();
  to->pause = static_cast<Pause>(from.pause());
  to->window_kind = static_cast<WindowKind>(from.window_kind());
  to->window_index = from.window_index();
  to->step = from.step();
  to->last_step = from.last_step();
  to->step_mean_ns = from.step_mean_ns();
  reader.Text(from.function(), &to->function);
  reader.Text(from.stack(), &to->stack, CodecLimits::kTextBytes);
  to->function_class = static_cast<FunctionClass>(from.function_class());
  ReadCommunicators(from.communicators(), reader, &to->communicators);
  ReadInFlight(from.in_flight(), from.in_flight_side(), reader, &to->in_flight);
  ReadOperations(from.operations(), reader, &to->operations);
  ReadConnections(from.connections(), reader, &to->connections);
  to->end.reset();
  if (from.process_ended()) {
    to->end = ProcessEnd{.exit_code = from.exit_code(),
                         .signal = from.exit_signal(),
                         .started_ns = from.process_started_ns(),
                         .out_of_memory = from.out_of_memory(),
                         .job_failure = FailureOf(from)};
  }
}

}  // namespace eroica
