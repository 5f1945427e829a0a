#include "job/faces/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/csv.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/utf8.h"

namespace evener::job {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNamesHeading = "group,name";
constexpr std::uint64_t kMostNamesBytes = 16 << 20;

struct NameLine {
  int person = 0;  // from 0
  std::string name;
};

/// A name as spreadsheets write it: in quotes where it has commas or quotes, which are doubled.
std::string unquoted(std::string_view cell) {
  const bool quoted = cell.size() >= 2 && cell.front() == '"' && cell.back() == '"';
  return quoted ? csv_cells(cell, "").front() : std::string(cell);
}

/// Absent for a line without a group's number.
std::optional<NameLine> name_line(std::string_view line) {
  int group = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), group);
  if (error != std::errc() || group < 1) return std::nullopt;
  std::string_view rest = line.substr(static_cast<std::size_t>(end - line.data()));
  if (rest.empty()) return NameLine{group - 1, ""};
  if (std::string_view(",;\t").find(rest.front()) == std::string_view::npos) return std::nullopt;
  return NameLine{group - 1, unquoted(trimmed(rest.substr(1)))};
}

/// For each person before, the persons who now have some of their faces, with the number of faces.
std::map<int, std::map<int, std::size_t>> moves(const std::vector<int>& before, const std::vector<int>& now) {
  std::map<int, std::map<int, std::size_t>> all;
  for (std::size_t i = 0; i < std::min(before.size(), now.size()); ++i) {
    if (before[i] >= 0 && now[i] >= 0) ++all[before[i]][now[i]];
  }
  return all;
}

constexpr const char* kApart = "apart.csv";

}  // namespace

fs::path names_file(const fs::path& folder) {
  return folder / "names.csv";
}

PersonNames::PersonNames(const fs::path& folder) {
  const fs::path path = names_file(folder);
  if (!fs::exists(path)) return;
  std::istringstream lines(text_without_byte_order_mark(read_file(path, kMostNamesBytes)));
  std::size_t number = 0;
  for (std::string all; std::getline(lines, all);) {
    ++number;
    const std::string_view line = trimmed(all);
    if (line.empty() || (number == 1 && line.starts_with("group"))) continue;
    const auto fail = [&](const std::string& why) {
      throw Error(fmt::format("line {} of '{}', {}, {}", number, path.string(), quoted_text(line), why));
    };
    const std::optional<NameLine> one = name_line(line);
    if (!one) fail("is not a group's number and a name with a comma between, as in 3,Anna");
    if (to_utf8_text(line) != line) fail("is not in UTF-8: save the file in that encoding");
    if (one->name.empty()) continue;
    if (!names_.emplace(one->person, one->name).second) fail("names a group that has a name already");
  }
}

const std::string& PersonNames::of(int person) const {
  static const std::string none;
  const auto found = names_.find(person);
  return found == names_.end() ? none : found->second;
}

std::vector<std::string> PersonNames::follow(const std::vector<int>& before, const std::vector<int>& now) {
  const auto moved = moves(before, now);
  std::map<int, std::pair<std::size_t, int>> best;  // of a person: the faces that a name brings, and its number before
  std::vector<std::string> notes;
  std::vector<int> homeless;
  for (const auto& [person, name] : names_) {
    const auto found = moved.find(person);
    if (found == moved.end()) {
      homeless.push_back(person);
      continue;
    }
    const auto to = std::ranges::max_element(found->second, {}, [](const auto& one) { return one.second; });
    const auto [at, is_new] = best.try_emplace(to->first, to->second, person);
    if (is_new) continue;
    const bool is_better = to->second > at->second.first;
    homeless.push_back(is_better ? at->second.second : person);
    if (is_better) at->second = {to->second, person};
  }
  std::map<int, std::string> names;
  for (const auto& [person, from] : best) names[person] = names_.at(from.second);
  for (const int person : homeless) {
    const std::string& name = names_.at(person);
    const bool stays = std::ranges::find(now, person) == now.end() && names.emplace(person, name).second;
    notes.push_back(fmt::format("names.csv calls group {} {}, and no person has its faces: the name {}", person + 1,
                                printable(name), stays ? "waits there" : "is taken out, as others have that number"));
  }
  names_ = std::move(names);
  return notes;
}

void PersonNames::write(const fs::path& folder, const std::set<int>& persons) const {
  std::set<int> all = persons;
  for (const auto& [person, name] : names_) all.insert(person);
  std::string text = std::string(kNamesHeading) + "\n";
  for (const int person : all) text += fmt::format("{},{}\n", person + 1, csv_cell(of(person)));
  write_file_atomically(names_file(folder), text);
}

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
