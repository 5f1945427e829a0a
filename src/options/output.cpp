#include "options/output.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

#include "base/files.h"

namespace evener {

namespace fs = std::filesystem;

void put(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void put_to(const std::string& place, const std::string& text) {
  if (place == "-") {
    put(text);
    return;
  }
  write_file_atomically(place, text);
  fmt::print(stderr, "wrote {}\n", place);
}

std::size_t table_width() {
  constexpr std::size_t kFileWidth = 200;
  winsize size{};
  if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return kFileWidth;
}

fs::path page_path(const std::string& html, const std::vector<std::string>& folders, const char* name) {
  if (!html.empty()) return html;
  return folders.size() == 1 ? fs::path(folders.front()) / name : fs::path(name);
}

void put_written(const fs::path& page, const std::string& hint) {
  fmt::print(stderr, "report: {}\n", fs::absolute(page).lexically_normal().string());
  if (!hint.empty()) fmt::print(stderr, "warning: {}\n", hint);
}

bool write_json_text(const std::string& target, const std::string& text) {
  if (target == "-") {
    std::fputs(text.c_str(), stdout);
    return true;
  }
  if (!target.empty()) write_file_atomically(target, text);
  return false;
}

}  // namespace evener
