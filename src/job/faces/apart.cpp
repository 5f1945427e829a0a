#include "job/faces/apart.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/utf8.h"

namespace evener::job {
namespace {

namespace fs = std::filesystem;

constexpr const char* kApart = "apart.csv";
constexpr const char* kSeparators = ",;\t";

/// Takes the first cell off a line, with its separator; quotes around it are left out and doubled ones made single.
std::string take_cell(std::string& line) {
  std::string cell;
  bool quoted = false;
  std::size_t at = 0;
  for (; at < line.size(); ++at) {
    const char c = line[at];
    if (c == '"') {
      if (quoted && at + 1 < line.size() && line[at + 1] == '"')
        cell += line[++at];
      else
        quoted = !quoted;
    } else if (!quoted && std::string_view(kSeparators).find(c) != std::string_view::npos) {
      break;
    } else {
      cell += c;
    }
  }
  line.erase(0, at + 1);
  return cell;
}

}  // namespace

FacesApart::FacesApart(const fs::path& folder) {
  constexpr std::uint64_t kMostBytes = 16 << 20;
  const fs::path path = folder / kApart;
  if (!fs::exists(path)) return;
  std::istringstream text(text_without_byte_order_mark(read_file(path, kMostBytes)));
  std::size_t number = 0;
  for (std::string all; std::getline(text, all);) {
    ++number;
    std::string rest(trimmed(all));
    if (rest.empty() || (number == 1 && rest.starts_with("file"))) continue;
    const std::string file = take_cell(rest);
    const auto face = to_number<std::size_t>(trimmed(take_cell(rest)));
    if (file.empty() || !face) {
      throw Error(
          fmt::format("line {} of '{}', {}, is not a photo and the number of a face on it, as in photos/a.jpg,0",
                      number, path.string(), quoted_text(trimmed(all))));
    }
    lines_.push_back({from_utf8_text(file), *face});
  }
}

bool FacesApart::contains(const std::string& file, std::size_t face) {
  bool is_apart = false;
  for (Line& line : lines_) {
    if (line.face != face || (line.file != file && line.file != fs::path(file).filename())) continue;
    line.is_found = is_apart = true;
  }
  return is_apart;
}

std::vector<std::string> FacesApart::notes() const {
  std::vector<std::string> notes;
  for (const Line& line : lines_) {
    if (line.is_found) continue;
    notes.push_back(
        fmt::format("{} names face {} of {}, which is not there.", kApart, line.face, quoted_text(line.file)));
  }
  return notes;
}

}  // namespace evener::job
