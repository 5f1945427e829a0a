#include "job/faces/pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <sstream>

#include "base/csv.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/utf8.h"

namespace evener::job {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> fields_of(const std::string& line) {
  if (line.find_first_of(",\t") != std::string::npos) {
    return csv_cells(line, line.find('\t') != std::string::npos ? "\t" : ",");
  }
  std::istringstream words(line);
  return {std::istream_iterator<std::string>(words), {}};
}

/// Why so many pairs of one person and of two can't be judged; "" if they can.
std::string too_few_text(std::size_t same, std::size_t different) {
  if (std::min(same, different) >= task::kFewestPairs) return "";
  return fmt::format("at least {} of one person and {} of two are judged, and there are {} and {}", task::kFewestPairs,
                     task::kFewestPairs, same, different);
}

/// Distance of unit vectors.
double distance(std::span<const float> a, std::span<const float> b) {
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) squares += std::pow(static_cast<double>(a[i]) - b[i], 2);
  return std::sqrt(squares);
}

std::map<std::size_t, std::size_t> largest_face_by_photo(const FoundFaces& found) {
  std::map<std::size_t, std::size_t> largest;
  for (std::size_t i = 0; i < found.faces.size(); ++i) {
    const auto [entry, is_new] = largest.emplace(found.faces[i].photo, i);
    const bool larger = found.faces[i].face.box.area() > found.faces[entry->second].face.box.area();
    if (!is_new && larger) entry->second = i;
  }
  return largest;
}

}  // namespace

std::vector<PhotoPair> read_photo_pairs(const fs::path& list, const data::Pictures& photos) {
  std::map<fs::path, std::size_t> number_of;
  for (std::size_t i = 0; i < photos.size(); ++i) number_of[fs::weakly_canonical(photos.source(i))] = i;
  std::istringstream lines(text_without_byte_order_mark(read_file(list)));
  std::vector<PhotoPair> pairs;
  int line_number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++line_number;
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || line.starts_with('#')) continue;
    const std::string where = fmt::format("line {} of '{}'", line_number, list.string());
    const std::vector<std::string> fields = fields_of(line);
    const bool is_pair = fields.size() >= 3 && (fields[2] == "0" || fields[2] == "1");
    const bool has_number = fields.size() >= 3 && fields[2].find_first_of("0123456789") != std::string::npos;
    if (line_number == 1 && fields.size() >= 3 && !has_number) continue;  // a heading
    if (!is_pair) {
      throw UsageError(where + " is " + quoted_text(line) + ", not two files and 1 (the same person) or 0");
    }
    const auto number = [&](const std::string& file) {
      for (const fs::path& path : {fs::path(file), list.parent_path() / file}) {
        const auto found = number_of.find(fs::weakly_canonical(path));
        if (found != number_of.end()) return found->second;
      }
      throw UsageError(where + " names " + quoted_text(file) + ", which is not among the photos");
    };
    pairs.push_back({number(fields[0]), number(fields[1]), fields[2] == "1"});
  }
  const auto same = static_cast<std::size_t>(std::ranges::count(pairs, true, &PhotoPair::same));
  if (const std::string refusal = too_few_text(same, pairs.size() - same); !refusal.empty()) {
    throw UsageError(fmt::format("'{}' has too few pairs: {}", list.string(), refusal));
  }
  return pairs;
}

JudgedPhotos judge_pairs(const std::vector<PhotoPair>& pairs, const FoundFaces& found, const data::Pictures& photos,
                         const fs::path& table) {
  const std::map<std::size_t, std::size_t> largest = largest_face_by_photo(found);
  JudgedPhotos judged;
  std::vector<task::JudgedPair> distances;
  std::string rows = "file_a,file_b,same_person,distance,cosine\n";
  for (const PhotoPair& pair : pairs) {
    const auto first = largest.find(pair.first), second = largest.find(pair.second);
    if (first == largest.end() || second == largest.end()) {
      ++judged.without_face;
      continue;
    }
    const double apart = distance(found.embeddings[first->second], found.embeddings[second->second]);
    distances.push_back({apart, pair.same});
    rows += fmt::format("{},{},{:d},{:.6f},{:.6f}\n", csv_cell(to_utf8_text(photos.source(pair.first))),
                        csv_cell(to_utf8_text(photos.source(pair.second))), pair.same, apart, 1 - apart * apart / 2);
  }
  write_file_atomically(table, rows);
  const auto same = static_cast<std::size_t>(std::ranges::count(distances, true, &task::JudgedPair::same));
  judged.refusal = too_few_text(same, distances.size() - same);
  if (judged.refusal.empty()) judged.result = task::verify(distances);
  return judged;
}

std::string judgement_text(const JudgedPhotos& judged) {
  const task::Verification& result = *judged.result;
  std::string text =
      fmt::format("{} of one person and {} of two: {:.2f} % told rightly, equal error rate {:.2f} % at distance {:.3f}",
                  counted(result.same, "pair"), result.different, 100 * result.accuracy, 100 * result.equal_error_rate,
                  result.equal_error_distance);
  const auto add = [&](const std::optional<double>& accepted, const char* wrongly) {
    if (accepted) text += fmt::format(", {:.2f} % accepted where {} of the wrong ones are", 100 * *accepted, wrongly);
  };
  add(result.accepted_at_1_percent, "1 %");
  add(result.accepted_at_01_percent, "0.1 %");
  if (judged.without_face > 0) text += fmt::format("; {} left out, a photo without a face", judged.without_face);
  return text + ".";
}

void add_judgement(record::Record& record, const task::Verification& result) {
  record::add_metric(record, {.name = "pair_accuracy",
                              .unit = "share",
                              .title = "pairs told rightly",
                              .label = "pairs told rightly",
                              .role = record::MetricRole::kQuality,
                              .value = result.accuracy});
  record::add_metric(record, {.name = "equal_error_rate",
                              .unit = "share",
                              .title = "EER",
                              .label = "equal error rate",
                              .better = record::Better::kLower,
                              .role = record::MetricRole::kQuality,
                              .value = result.equal_error_rate});
}

}  // namespace evener::job
