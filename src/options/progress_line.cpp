#include "options/progress_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/terminal_text.h"
#include "data/video/video_files.h"

namespace evener {
namespace {

std::size_t terminal_width() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

bool may_redraw(int descriptor) {
  const char* const terminal = std::getenv("TERM");
  return isatty(descriptor) != 0 && terminal != nullptr && *terminal != '\0' && std::string_view(terminal) != "dumb";
}

bool may_colour(int descriptor) {
  const char* const refused = std::getenv("NO_COLOR");
  return may_redraw(descriptor) && (refused == nullptr || *refused == '\0');
}

ProgressLine::ProgressLine(bool quiet) : quiet_(quiet), terminal_(may_redraw(STDERR_FILENO)) {}

void ProgressLine::note(const std::string& text) {
  if (quiet_) return;
  finish();
  std::fprintf(stderr, "%s\n", terminal_text(text).c_str());
}

void ProgressLine::show(const std::string& text) {
  if (!terminal_) return note(text);
  if (quiet_) return;
  finish();
  std::fprintf(stderr, "%s", one_line(text).substr(0, terminal_width() - 1).c_str());
  std::fflush(stderr);
  line_open_ = true;
}

void ProgressLine::finish() {
  if (line_open_) std::fprintf(stderr, "\r%*s\r", static_cast<int>(terminal_width()) - 1, "");
  line_open_ = false;
}

void ProgressLine::tell(const std::string& lines) {
  if (std::fputs(lines.c_str(), stdout) >= 0) return;
  throw Error(std::string("can't write to standard output: ") + std::strerror(errno));
}

void PromptLine::tell(const std::string& lines) {
  ProgressLine::tell(lines);
  std::fflush(stdout);
}

std::unique_ptr<ProgressLine> progress_for(const std::vector<std::string>& words, bool quiet) {
  if (std::ranges::any_of(words, data::is_live_source)) return std::make_unique<PromptLine>(quiet);
  return std::make_unique<ProgressLine>(quiet);
}

}  // namespace evener
