#include "job/faces/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <span>
#include <utility>

#include "base/csv.h"
#include "base/files.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/utf8.h"
#include "job/progress.h"

namespace evener::job {
namespace {

namespace fs = std::filesystem;

/// For more faces than this no distances.npy is written, as it would have more than 400 MB; pairs.csv and
/// neighbours.csv have the near pairs.
constexpr std::size_t kMostInMatrix = 10'000;
constexpr std::size_t kUsualNeighbours = 10;
constexpr std::size_t kMany = 100'000;  // faces of which each is told fewer pairs to group by, to bound memory
constexpr std::size_t kPairsOfMany = 16;

double cosine_at(float distance) {
  return 1 - static_cast<double>(distance) * distance / 2;
}

constexpr const char* kPairsHeading = "face_a,file_a,face_b,file_b,distance,cosine\n";

std::string file_cell(const ComparisonRequest& request, std::size_t face) {
  return csv_cell(to_utf8_text(request.file_of(face)));
}

void add_pair(std::string& rows, const task::NearPair& pair, const ComparisonRequest& request) {
  fmt::format_to(std::back_inserter(rows), "{},{},{},{},{:.6f},{:.6f}\n", pair.first, file_cell(request, pair.first),
                 pair.second, file_cell(request, pair.second), pair.distance, cosine_at(pair.distance));
}

std::string neighbour_rows(const task::Neighbours& block, const ComparisonRequest& request) {
  std::string rows;
  for (std::size_t i = 0; i < block.rows.size(); ++i) {
    const std::size_t face = block.begin + i / block.count, other = block.rows[i];
    fmt::format_to(std::back_inserter(rows), "{},{},{},{},{},{:.6f},{:.6f}\n", face, file_cell(request, face),
                   i % block.count + 1, other, file_cell(request, other), block.distances[i],
                   cosine_at(block.distances[i]));
  }
  return rows;
}

/// Writes all_pairs.csv where pairs.csv can't hold all pairs. Takes at most half of the disk's free space.
class AllPairs {
 public:
  AllPairs(const ComparisonRequest& request, std::size_t most_elsewhere)
      : path_(request.folder / "all_pairs.csv"), request_(request), most_elsewhere_(most_elsewhere) {}
  ~AllPairs() {
    std::error_code ignored;
    fs::remove(temporary_, ignored);
  }
  AllPairs(const AllPairs&) = delete;
  AllPairs& operator=(const AllPairs&) = delete;

  void add(std::span<const task::NearPair> pairs) {
    if (!file_.is_open()) {
      held_.insert(held_.end(), pairs.begin(), pairs.end());
      if (held_.size() <= most_elsewhere_) return;
      begin();
      write(held_);
      held_ = {};
      return;
    }
    write(pairs);
  }

  /// Renames the finished file. Returns a note about it; "" = there is no such file.
  std::string finish() {
    if (!file_.is_open()) return {};
    errno = 0;
    file_.close();
    if (!file_) fail_to_write(path_, errno);
    fs::rename(temporary_, path_);
    std::string text = fmt::format("all_pairs.csv has {} of them, face by face", full_ ? "some" : "all");
    if (full_) text += fmt::format(": {} of text are half of what was free on the disk", bytes_text(bytes_));
    return text + ".";
  }

 private:
  void begin() {
    std::error_code error;
    const auto space = fs::space(path_.parent_path(), error);
    most_bytes_ = error ? std::numeric_limits<std::uint64_t>::max() : space.available / 2;
    errno = 0;
    file_.open(temporary_, std::ios::binary | std::ios::trunc);
    if (!(file_ << kPairsHeading)) fail_to_write(path_, errno);
  }

  void write(std::span<const task::NearPair> pairs) {
    for (const task::NearPair& pair : pairs) {
      if (full_) return;
      add_pair(text_, pair, request_);
      if (text_.size() >= kWriteBytes) flush();
    }
    flush();
  }

  void flush() {
    full_ = full_ || bytes_ + text_.size() > most_bytes_;
    errno = 0;
    if (!full_ && !(file_ << text_)) fail_to_write(path_, errno);
    if (!full_) bytes_ += text_.size();
    text_.clear();
  }

  static constexpr std::size_t kWriteBytes = 1 << 20;
  const fs::path path_;
  const fs::path temporary_ = path_.string() + ".part";
  const ComparisonRequest& request_;
  const std::size_t most_elsewhere_;
  std::vector<task::NearPair> held_;
  std::ofstream file_;
  std::string text_;
  std::uint64_t bytes_ = 0, most_bytes_ = 0;
  bool full_ = false;
};

/// All distances as an array of NumPy (version 1).
void write_matrix(const fs::path& path, const task::Embeddings& embeddings, int threads) {
  std::string header =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({0}, {0}), }}", embeddings.size());
  header.append(63 - (header.size() + 10) % 64, ' ');
  header += '\n';
  write_file_atomically(path, [&](std::ostream& out) {
    out << "\x93NUMPY" << '\x01' << '\x00' << static_cast<char>(header.size() & 255)
        << static_cast<char>(header.size() >> 8) << header;
    task::each_distance_block(embeddings, threads, [&](std::size_t, std::size_t, std::span<const float> rows) {
      out.write(reinterpret_cast<const char*>(rows.data()), static_cast<std::streamsize>(rows.size_bytes()));
    });
  });
}

}  // namespace

ComparisonRequest comparison_request(const FacesComparisonFlags& flags) {
  ComparisonRequest request;
  request.limit = static_cast<float>(*flags.limit);
  if (*flags.neighbours) request.neighbours = static_cast<std::size_t>(**flags.neighbours);
  return request;
}

void add_comparison(record::Record& record, std::size_t faces, std::optional<std::size_t> persons) {
  record::add_metric(record, record::plain_number("faces", "faces", "faces found", static_cast<double>(faces)));
  record::Metric metric = record::plain_number("persons", "persons", "persons seen more than once", {});
  if (persons) metric.value = static_cast<double>(*persons);
  if (!persons) metric.reason = "the embedder's weights are random: --weights has others";
  record::add_metric(record, std::move(metric));
}

bool may_found(const task::FaceBox& box, const FounderRule& rule) {
  return std::min(box.x2 - box.x1, box.y2 - box.y1) >= static_cast<float>(rule.size) && box.probability >= rule.sure;
}

ComparedFaces compare(const task::Embeddings& embeddings, const std::vector<task::FaceFacts>& facts,
                      const ComparisonRequest& request, Observer& line) {
  const std::size_t all = embeddings.size();
  for (const char* name : {"distances.npy", "neighbours.csv", "all_pairs.csv", "all_pairs.csv.part"}) {
    fs::remove(request.folder / name);
  }
  task::CompareOptions options{.limit = request.limit, .threads = request.threads};
  if (all > kMany) options.most_of_each_face = kPairsOfMany;
  const std::size_t asked = request.neighbours.value_or(all > kMostInMatrix ? kUsualNeighbours : 0);
  options.neighbours = std::min(asked, all < 2 ? 0 : all - 1);
  AllPairs all_pairs(request, options.most_pairs);
  LoadingProgress progress(line, "faces");
  options.on_pairs = [&](std::span<const task::NearPair> pairs) { all_pairs.add(pairs); };
  options.on_progress = [&](std::size_t done, std::size_t count) { progress.update("comparing faces", done, count); };
  task::Comparison comparison;
  if (options.neighbours > 0) {
    write_file_atomically(request.folder / "neighbours.csv", [&](std::ostream& out) {
      out << "face,file,rank,neighbour,neighbour_file,distance,cosine\n";
      options.on_neighbours = [&](const task::Neighbours& block) { out << neighbour_rows(block, request); };
      comparison = task::compare_all(embeddings, options);
    });
  } else {
    comparison = task::compare_all(embeddings, options);
  }
  line.finish();
  write_file_atomically(request.folder / "pairs.csv", [&](std::ostream& out) {
    out << kPairsHeading;
    for (const task::NearPair& pair : comparison.pairs) {
      std::string row;
      add_pair(row, pair, request);
      out << row;
    }
  });
  if (all > 0 && all <= kMostInMatrix) write_matrix(request.folder / "distances.npy", embeddings, request.threads);
  ComparedFaces compared;
  std::erase_if(comparison.to_group, [&](const task::NearPair& pair) {
    return request.apart.contains(pair.first) || request.apart.contains(pair.second);
  });
  compared.groups = task::group_faces(embeddings, facts, comparison.to_group, {request.limit});
  compared.histogram = std::move(comparison.histogram);
  compared.pairs = std::move(comparison.pairs);
  if (comparison.pairs_within > compared.pairs.size()) {
    compared.summary.push_back(fmt::format("pairs.csv has the nearest {} of {} pairs within the limit.",
                                           compared.pairs.size(), comparison.pairs_within));
  }
  if (const std::string text = all_pairs.finish(); !text.empty()) compared.summary.push_back(text);
  return compared;
}

}  // namespace evener::job
