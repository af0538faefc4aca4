#include "ops/cli/full_screen.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>

#include "ops/cli/stop_signal.h"

namespace eroica {
namespace {

using std::chrono::milliseconds;

constexpr const char* kEnter = "\x1b[?1049h\x1b[?25l";  // the other screen, without a cursor
constexpr const char* kLeave = "\x1b[?25h\x1b[?1049l";
constexpr const char* kHome = "\x1b[H";
constexpr const char* kEndOfLine = "\x1b[K";
constexpr const char* kBelow = "\x1b[J";  // wipes what is left of the frame before

}  // namespace

FullScreen::FullScreen(std::ostream* out) : out_(out) {
  termios keyboard{};
  if (::tcgetattr(STDIN_FILENO, &keyboard) == 0) {
    keyboard_ = keyboard;
    keyboard.c_lflag &= static_cast<tcflag_t>(~(ICANON | ECHO));
    keyboard.c_cc[VSUSP] = _POSIX_VDISABLE;  // a shell would be left on the wrong screen
    keyboard.c_cc[VMIN] = 0;
    keyboard.c_cc[VTIME] = 0;
    ::tcsetattr(STDIN_FILENO, TCSANOW, &keyboard);
  }
  *out_ << kEnter << std::flush;
}

FullScreen::~FullScreen() {
  *out_ << kLeave << std::flush;
  if (keyboard_) ::tcsetattr(STDIN_FILENO, TCSANOW, &*keyboard_);
}

void FullScreen::Draw(const std::vector<std::string>& lines) {
  std::string frame = kHome;
  for (size_t i = 0; i < lines.size(); ++i) frame += (i == 0 ? "" : "\r\n") + lines[i] + kEndOfLine;
  *out_ << frame << kBelow << std::flush;
}

bool FullScreen::Wait(milliseconds time, const ScreenSize& drawn) const {
  constexpr milliseconds kLookEvery{100};
  const auto deadline = std::chrono::steady_clock::now() + time;
  while (!StopRequested()) {
    const auto left =
        std::chrono::duration_cast<milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left <= milliseconds(0) || OutputScreen() != drawn) return true;
    pollfd keys{.fd = keyboard_ ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0};
    if (::poll(&keys, 1, static_cast<int>(std::min(left, kLookEvery).count())) <= 0) continue;
    char key = 0;
    const ssize_t got = ::read(STDIN_FILENO, &key, 1);
    if (got == 0 || (got == 1 && key == 'q')) return false;
  }
  return false;
}

}  // namespace eroica
