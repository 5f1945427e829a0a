#include "data/open/drop_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>
#include <unordered_map>

#include "base/csv.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/random.h"
#include "base/utf8.h"

namespace evener::data {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostListBytes = std::uint64_t{256} << 20;

std::string list_text(const fs::path& file) {
  try {
    return text_without_byte_order_mark(read_file(file, kMostListBytes));
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& error) {
    throw UsageError(fmt::format("--drop: the list of images can't be read: {}", error.what()));
  }
}

std::vector<std::string> first_cells(const std::string& text) {
  std::istringstream lines(text);
  return CsvReader(lines).titles();
}

void take_table(const std::string& text, DropList& list) {
  std::istringstream lines(text);
  CsvReader table(lines);
  const std::size_t file = table.find_column("file").value();
  const auto kind = table.find_column("kind");
  while (table.next()) {
    const std::string& name = table.cell(file);
    const std::string what = kind ? table.cell(*kind) : "";
    if (what == "both" || what == "neither") {
      ++list.doubtful;
    } else if (!name.empty()) {
      list.names.push_back(name);
    }
  }
}

/// "train/ants/1.jpg" without its first folder; "" where there is none.
std::string_view below_first(std::string_view path) {
  const std::size_t slash = path.find('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
}

std::string normal(const std::string& path) {
  return to_utf8_text(fs::path(path).lexically_normal().string());
}

std::string absolute(const std::string& path) {
  std::error_code none;
  return normal(fs::absolute(path, none).string());
}

/// Finds samples by their names.
class NamedSamples {
 public:
  NamedSamples(const Dataset& dataset, const std::string& location) : dataset_(dataset), location_(location) {
    for (std::uint32_t i = 0; i < dataset.size(); ++i) {
      const std::string name = normal(dataset.source(i));
      by_name_.emplace(name, i);
      by_path_.emplace(absolute(dataset.source(i)), i);
      by_last_[last_of(name)].push_back(i);
    }
  }

  /// Nothing where no sample has the name. Throws UsageError where several have.
  std::optional<std::uint32_t> find(const std::string& name) const {
    const std::string path = normal(from_utf8_text(name));
    if (const auto found = by_name_.find(path); found != by_name_.end()) return found->second;
    if (const auto found = by_path_.find(absolute(from_utf8_text(name))); found != by_path_.end()) return found->second;
    return by_end(path);
  }

  /// The names that are like it most; "" where there is none.
  std::string nearest(const std::string& name) const {
    const std::string last = last_of(name);
    std::vector<std::string> names;
    for (const auto& each : by_last_) names.push_back(each.first);
    std::ranges::sort(names);
    return nearest_name(last, names);
  }

 private:
  static std::string last_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

  static bool ends_with_path(const std::string& path, std::string_view end) {
    if (!path.ends_with(end)) return false;
    return path.size() == end.size() || path[path.size() - end.size() - 1] == '/';
  }

  /// The sample whose path ends as the name does, for as many folders as possible.
  std::optional<std::uint32_t> by_end(const std::string& path) const {
    const auto alike = by_last_.find(last_of(path));
    if (alike == by_last_.end()) return std::nullopt;
    // A bare file name may be any image's; folders that it had before have to agree but for the first ones.
    const bool has_folder = path.find('/') != std::string::npos;
    for (std::string_view end = path; !end.empty(); end = below_first(end)) {
      if (has_folder && end.find('/') == std::string_view::npos) break;
      std::vector<std::uint32_t> found;
      for (const std::uint32_t sample : alike->second) {
        if (ends_with_path(normal(dataset_.source(sample)), end)) found.push_back(sample);
      }
      if (found.size() > 1) throw_several(path, found);
      if (found.size() == 1) return found.front();
    }
    return std::nullopt;
  }

  [[noreturn]] void throw_several(const std::string& path, const std::vector<std::uint32_t>& found) const {
    throw UsageError(fmt::format("--drop: {} may be {} images of '{}', such as '{}' and '{}': write more of its path",
                                 quoted_text(path), found.size(), location_, printable(dataset_.source(found[0])),
                                 printable(dataset_.source(found[1]))));
  }

  const Dataset& dataset_;
  const std::string& location_;
  std::unordered_map<std::string, std::uint32_t> by_name_, by_path_;
  std::unordered_map<std::string, std::vector<std::uint32_t>> by_last_;
};

std::size_t take_out(const std::vector<std::uint32_t>& samples, std::vector<std::uint32_t>& part) {
  return std::erase_if(part, [&](std::uint32_t sample) { return std::ranges::binary_search(samples, sample); });
}

std::vector<std::string> notes_on_unknown(const std::vector<std::string>& unknown, const DropList& list,
                                          const NamedSamples& samples, const std::string& location) {
  constexpr std::size_t kMostTold = 3;
  if (unknown.empty()) return {};
  std::string told;
  for (std::size_t i = 0; i < std::min(kMostTold, unknown.size()); ++i) {
    const std::string nearest = samples.nearest(unknown[i]);
    told += fmt::format("{}{}{}", i == 0 ? "" : ", ", quoted_text(unknown[i]),
                        nearest.empty() ? "" : fmt::format(" (the nearest is {})", quoted_text(nearest)));
  }
  const std::size_t more = unknown.size() - std::min(kMostTold, unknown.size());
  return {fmt::format("{} of the {} in '{}' {} no image's of '{}': {}{}", unknown.size(),
                      counted(list.names.size(), "name"), list.file.string(), unknown.size() == 1 ? "is" : "are",
                      location, told, more > 0 ? fmt::format(" and {} more", more) : "")};
}

std::string left_out_text(const LeftOut& left, const DropList& list) {
  std::string text = fmt::format("{} named in '{}' {} left out", counted(left.samples.size(), "image"),
                                 list.file.string(), left.samples.size() == 1 ? "is" : "are");
  if (left.train + left.val + left.test > 0) {
    text += fmt::format(": {} of the training part, {} of that to validate on", left.train, left.val);
    if (list.takes_from_test) text += fmt::format(", {} of the test part", left.test);
  }
  if (left.test_kept > 0) {
    text += fmt::format("; {} in the test part {} there (--drop-test takes {} out too)", left.test_kept,
                        left.test_kept == 1 ? "stays" : "stay", left.test_kept == 1 ? "it" : "them");
  }
  if (list.doubtful > 0) {
    text += fmt::format("; {} that {} like both classes or like neither {} passed over", counted(list.doubtful, "row"),
                        list.doubtful == 1 ? "looks" : "look", list.doubtful == 1 ? "is" : "are");
  }
  return text;
}

}  // namespace

std::uint64_t DropList::hash() const {
  std::string all = takes_from_test ? "test\n" : "";
  for (const std::string& name : names) all += name + "\n";
  return hash_text(all);
}

DropList read_drop_list(const fs::path& file) {
  const std::string text = list_text(file);
  DropList list{.file = file, .names = {}};
  if (std::ranges::count(first_cells(text), "file") > 0) {
    take_table(text, list);
  } else {
    list.names = lines_of_list(text, /*trims=*/true);
    std::erase(list.names, "");
  }
  if (list.names.empty()) {
    throw UsageError(fmt::format(
        "--drop: '{}' names no image{}; it is a list with the name of an image on each line, or a table (CSV) with the "
        "column \"file\", such as labels.csv",
        file.string(),
        list.doubtful > 0 ? fmt::format(" but {} that may be right", counted(list.doubtful, "row")) : ""));
  }
  for (std::string& name : list.names) name = to_utf8_text(name);
  std::ranges::sort(list.names);
  list.names.erase(std::unique(list.names.begin(), list.names.end()), list.names.end());
  return list;
}

void write_dropped(const DropList& list, const fs::path& run) {
  std::string text;
  for (const std::string& name : list.names) text += name + "\n";
  write_file_atomically(run / kDroppedFile, text);
}

LeftOut leave_out(const DropList& list, const std::string& location, OpenedData& opened) {
  const NamedSamples named(*opened.dataset, location);
  LeftOut left;
  std::vector<std::string> unknown;
  for (const std::string& name : list.names) {
    if (const auto sample = named.find(name)) {
      left.samples.push_back(*sample);
    } else {
      unknown.push_back(name);
    }
  }
  left.notes = notes_on_unknown(unknown, list, named, location);
  if (left.samples.empty()) throw UsageError("--drop: " + left.notes.front());
  std::ranges::sort(left.samples);
  left.samples.erase(std::unique(left.samples.begin(), left.samples.end()), left.samples.end());
  const bool had_training = !opened.split.train.empty();
  left.train = take_out(left.samples, opened.split.train);
  left.val = take_out(left.samples, opened.split.val);
  if (list.takes_from_test) {
    left.test = take_out(left.samples, opened.split.test);
  } else {
    left.test_kept = static_cast<std::size_t>(std::ranges::count_if(
        opened.split.test, [&](std::uint32_t sample) { return std::ranges::binary_search(left.samples, sample); }));
  }
  take_out(left.samples, opened.split.added);
  if (had_training && opened.split.train.empty()) {
    throw UsageError(
        fmt::format("--drop: '{}' names all images of '{}' that there are to train on", list.file.string(), location));
  }
  if (left.train > 0) opened.statistics.reset();  // they are of the part as it came
  left.text = left_out_text(left, list);
  return left;
}

}  // namespace evener::data
