#include "job/faces/apart.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include "base/csv.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/utf8.h"

namespace evener::job {
namespace {

namespace fs = std::filesystem;

constexpr const char* kApart = "apart.csv";

}  // namespace

FacesApart::FacesApart(const fs::path& folder) {
  constexpr std::uint64_t kMostBytes = 16 << 20;
  const fs::path path = folder / kApart;
  if (!fs::exists(path)) return;
  std::istringstream text(text_without_byte_order_mark(read_file(path, kMostBytes)));
  std::size_t number = 0;
  for (std::string all; std::getline(text, all);) {
    ++number;
    const std::string_view line = trimmed(all);
    if (line.empty() || (number == 1 && line.starts_with("file"))) continue;
    std::vector<std::string> cells = csv_cells(line, ",;\t");
    cells.resize(2);
    const std::string& file = cells[0];
    const auto face = to_number<std::size_t>(trimmed(cells[1]));
    if (file.empty() || !face) {
      throw Error(
          fmt::format("line {} of '{}', {}, is not a photo and the number of a face on it, as in photos/a.jpg,0",
                      number, path.string(), quoted_text(line)));
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
