#include "schemas/wire_codec.h"

namespace eroica {

void Write(const Control& control, WireWriter& writer) {
  const auto job = writer.Text(control.job.value);
  const auto requester = writer.Text(control.requester);
  wire::ControlBuilder table(writer.builder());
  table.add_job(job);
  table.add_capture_level(static_cast<uint8_t>(control.capture_level));
  table.add_first_step(control.first_step);
  table.add_last_step(control.last_step);
  table.add_requester(requester);
  table.add_expires_at_ns(control.expires_at_ns);
  wire::FinishControlBuffer(writer.builder(), table.Finish());
}

void Read(const wire::Control& from, WireReader& reader, Control* to) {
  reader.Text(from.job(), &to->job.value);
  to->capture_level = static_cast<CaptureLevel>(from.capture_level());
  to->first_step = from.first_step();
  to->last_step = from.last_step();
  reader.Text(from.requester(), &to->requester);
  to->expires_at_ns = from.expires_at_ns();
}

}  // namespace eroica
