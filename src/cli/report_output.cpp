#include "cli/report_output.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

namespace evener::cli {

std::size_t table_width() {
  constexpr std::size_t kFileWidth = 200;
  winsize size{};
  if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return kFileWidth;
}

void put(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void put_written(const report::WrittenPage& page) {
  fmt::print(stderr, "report: {}\n", std::filesystem::absolute(page.path).lexically_normal().string());
  if (!page.hint.empty()) fmt::print(stderr, "warning: {}\n", page.hint);
}

}  // namespace evener::cli
