// The whole terminal while something is drawn on it again and again: another screen than the one
// with the user's commands, which is back afterwards, as are the settings of the keyboard. One at a
// time, one thread.
#pragma once

#include <termios.h>

#include <chrono>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "ops/cli/terminal.h"

namespace eroica {

class FullScreen {
 public:
  // out: the terminal, standard output. Keys are read from standard input where that is a terminal.
  explicit FullScreen(std::ostream* out);
  ~FullScreen();
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;

  // In place of what is there. Lines are no wider than the screen, and no more than its rows.
  void Draw(const std::vector<std::string>& lines);

  // For so long, or until somebody presses q or tells the program to stop (false), or until the
  // terminal has another size than this (true).
  bool Wait(std::chrono::milliseconds time, const ScreenSize& drawn) const;

 private:
  std::ostream* const out_;
  std::optional<termios> keyboard_;  // as it was
};

}  // namespace eroica
