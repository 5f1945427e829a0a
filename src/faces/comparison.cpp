#include "faces/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/csv.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/plural.h"
#include "base/utf8.h"
#include "faces/faces_job.h"
#include "measure/run/metered_run.h"
#include "measure/run/progress.h"
#include "record/record_json.h"
#include "weights/metadata_json.h"
#include "weights/safetensors.h"

namespace evener::faces {
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

void add_pair(std::string& rows, const NearPair& pair, const ComparisonRequest& request) {
  fmt::format_to(std::back_inserter(rows), "{},{},{},{},{:.6f},{:.6f}\n", pair.first, file_cell(request, pair.first),
                 pair.second, file_cell(request, pair.second), pair.distance, cosine_at(pair.distance));
}

std::string neighbour_rows(const Neighbours& block, const ComparisonRequest& request) {
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

  void add(std::span<const NearPair> pairs) {
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

  void write(std::span<const NearPair> pairs) {
    for (const NearPair& pair : pairs) {
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
  std::vector<NearPair> held_;
  std::ofstream file_;
  std::string text_;
  std::uint64_t bytes_ = 0, most_bytes_ = 0;
  bool full_ = false;
};

/// All distances as an array of NumPy (version 1).
void write_matrix(const fs::path& path, const Embeddings& embeddings, int threads) {
  std::string header =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({0}, {0}), }}", embeddings.size());
  header.append(63 - (header.size() + 10) % 64, ' ');
  header += '\n';
  write_file_atomically(path, [&](std::ostream& out) {
    out << "\x93NUMPY" << '\x01' << '\x00' << static_cast<char>(header.size() & 255)
        << static_cast<char>(header.size() >> 8) << header;
    each_distance_block(embeddings, threads, [&](std::size_t, std::size_t, std::span<const float> rows) {
      out.write(reinterpret_cast<const char*>(rows.data()), static_cast<std::streamsize>(rows.size_bytes()));
    });
  });
}

using Tensor = weights::SafetensorsLayout::Tensor;

constexpr std::size_t kBoxValues = 5;  // its corners and its probability
constexpr std::size_t kRowsAtOnce = 4096;
constexpr const char* kSureKey = "sure_probability";  // see FounderRule

bool is_rows(const Tensor& tensor) {
  return tensor.dtype == DType::kF32 && tensor.shape.size() == 2 && tensor.shape[0] > 0 && tensor.shape[1] > 1;
}

const Tensor& embeddings_in(const weights::SafetensorsLayout& layout, const std::string& name) {
  if (const Tensor* named = layout.find("embeddings"); named != nullptr && is_rows(*named)) return *named;
  if (const Tensor* other = layout.find("embeddings"); other != nullptr) {
    throw Error(fmt::format("the tensor 'embeddings' of '{}', {}, has to be float32 of shape (faces, D)", name,
                            shape_text(other->shape)));
  }
  const auto found = std::ranges::find_if(layout.tensors, is_rows);
  if (found == layout.tensors.end() || std::any_of(found + 1, layout.tensors.end(), is_rows)) {
    throw Error("'" + name +
                "' has no tensor 'embeddings' of float32 and shape (faces, D), nor another that is the only one of two "
                "extents: it is no file of embeddings");
  }
  return *found;
}

/// Calls `take` with some rows at a time.
template <class Take>
void read_rows(const fs::path& path, const Tensor& tensor, const Take& take) {
  const auto rows = static_cast<std::size_t>(tensor.shape[0]), values = static_cast<std::size_t>(tensor.shape[1]);
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(tensor.begin));
  std::vector<float> some;
  for (std::size_t first = 0; first < rows; first += kRowsAtOnce) {
    some.resize(std::min(kRowsAtOnce, rows - first) * values);
    if (!file.read(reinterpret_cast<char*>(some.data()), static_cast<std::streamsize>(some.size() * sizeof(float)))) {
      throw Error("can't read '" + path.string() + "' to its end");
    }
    for (std::size_t i = 0; i < some.size(); i += values) take(std::span(some).subspan(i, values));
  }
}

std::vector<std::string> files_in(const weights::SafetensorsLayout& layout, std::size_t faces) {
  std::vector<std::string> files;
  try {
    if (const auto found = layout.metadata.find("files"); found != layout.metadata.end()) {
      files = weights::metadata_value(found->second).get<std::vector<std::string>>();
    }
  } catch (const nlohmann::json::exception&) {
    files.clear();  // some other software's
  }
  if (files.size() == faces) return files;
  files.clear();
  for (std::size_t i = 0; i < faces; ++i) files.push_back(fmt::format("row {}", i));
  return files;
}

std::vector<FaceFacts> facts_of(const StoredFaces& faces, int founder_size) {
  std::map<std::string, std::size_t> photos;
  std::vector<FaceFacts> facts;
  for (std::size_t i = 0; i < faces.files.size(); ++i) {
    const std::size_t photo = photos.emplace(faces.files[i], photos.size()).first->second;
    facts.push_back({photo, faces.boxes.empty() || may_found(faces.boxes[i], {founder_size, faces.sure})});
  }
  return facts;
}

/// Refuses options about photos and finding faces, which have no effect on stored embeddings.
void check_options(const FacesCommandFlags& flags) {
  const auto refuse = [&](const OptionBase& option) {
    if (!option.given()) return;
    throw UsageError(option.name() + " is for photos; in " + flags.photos.photos->front() +
                     " are faces that were embedded already");
  };
  for (const OptionGroup* group : std::initializer_list<const OptionGroup*>{&flags.networks, &flags.videos}) {
    for (const OptionBase* option : group->options()) refuse(*option);
  }
  for (const OptionBase* option : std::initializer_list<const OptionBase*>{
           &flags.photos.pairs, &flags.photos.strict, &flags.placement.precision, &flags.placement.memory,
           &flags.output.resume, &flags.output.chunk, &flags.output.sort}) {
    refuse(*option);
  }
}

void write_groups(const fs::path& path, const StoredFaces& faces, const std::vector<int>& groups) {
  write_file_atomically(path, [&](std::ostream& out) {
    out << "face,file,group\n";
    for (std::size_t i = 0; i < groups.size(); ++i) {
      out << fmt::format("{},{},", i, csv_cell(to_utf8_text(faces.files[i])));
      out << (groups[i] >= 0 ? fmt::format("{}\n", groups[i] + 1) : "\n");
    }
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

bool may_found(const FaceBox& box, const FounderRule& rule) {
  return std::min(box.x2 - box.x1, box.y2 - box.y1) >= static_cast<float>(rule.size) && box.probability >= rule.sure;
}

ComparedFaces compare(const Embeddings& embeddings, const std::vector<FaceFacts>& facts,
                      const ComparisonRequest& request, measure::Observer& line) {
  const std::size_t all = embeddings.size();
  for (const char* name : {"distances.npy", "neighbours.csv", "all_pairs.csv", "all_pairs.csv.part"}) {
    fs::remove(request.folder / name);
  }
  CompareOptions options{.limit = request.limit, .threads = request.threads};
  if (all > kMany) options.most_of_each_face = kPairsOfMany;
  const std::size_t asked = request.neighbours.value_or(all > kMostInMatrix ? kUsualNeighbours : 0);
  options.neighbours = std::min(asked, all < 2 ? 0 : all - 1);
  AllPairs all_pairs(request, options.most_pairs);
  measure::LoadingProgress progress(line, "faces");
  options.on_pairs = [&](std::span<const NearPair> pairs) { all_pairs.add(pairs); };
  options.on_progress = [&](std::size_t done, std::size_t count) { progress.update("comparing faces", done, count); };
  Comparison comparison;
  if (options.neighbours > 0) {
    write_file_atomically(request.folder / "neighbours.csv", [&](std::ostream& out) {
      out << "face,file,rank,neighbour,neighbour_file,distance,cosine\n";
      options.on_neighbours = [&](const Neighbours& block) { out << neighbour_rows(block, request); };
      comparison = compare_all(embeddings, options);
    });
  } else {
    comparison = compare_all(embeddings, options);
  }
  line.finish();
  write_file_atomically(request.folder / "pairs.csv", [&](std::ostream& out) {
    out << kPairsHeading;
    for (const NearPair& pair : comparison.pairs) {
      std::string row;
      add_pair(row, pair, request);
      out << row;
    }
  });
  if (all > 0 && all <= kMostInMatrix) write_matrix(request.folder / "distances.npy", embeddings, request.threads);
  ComparedFaces compared;
  std::erase_if(comparison.to_group, [&](const NearPair& pair) {
    return request.apart.contains(pair.first) || request.apart.contains(pair.second);
  });
  compared.groups = group_faces(embeddings, facts, comparison.to_group, {request.limit});
  compared.histogram = std::move(comparison.histogram);
  compared.pairs = std::move(comparison.pairs);
  if (comparison.pairs_within > compared.pairs.size()) {
    compared.summary.push_back(fmt::format("pairs.csv has the nearest {} of {} pairs within the limit.",
                                           compared.pairs.size(), comparison.pairs_within));
  }
  if (const std::string text = all_pairs.finish(); !text.empty()) compared.summary.push_back(text);
  return compared;
}

StoredFaces read_embeddings(const fs::path& path) {
  const weights::SafetensorsLayout layout = weights::read_safetensors_layout(path);
  const Tensor& tensor = embeddings_in(layout, path.string());
  StoredFaces faces;
  const auto count = static_cast<std::size_t>(tensor.shape[0]);
  faces.embeddings.values.reserve(count * static_cast<std::size_t>(tensor.shape[1]));
  read_rows(path, tensor, [&](std::span<const float> row) {
    if (!std::ranges::all_of(row, [](float value) { return std::isfinite(value); })) {
      throw Error(fmt::format("row {} of '{}' in '{}' has a value that is no number", faces.embeddings.size(),
                              tensor.name, path.string()));
    }
    if (std::ranges::all_of(row, [](float value) { return value == 0; })) {
      throw Error(
          fmt::format("row {} of '{}' in '{}' is all zeros: it has no direction, so that it can't be compared; "
                      "leave it out of the file",
                      faces.embeddings.size(), tensor.name, path.string()));
    }
    faces.embeddings.add(row);
  });
  faces.files = files_in(layout, count);
  if (const auto found = layout.metadata.find(kSureKey); found != layout.metadata.end()) {
    faces.sure = to_number<float>(found->second).value_or(kUsuallySure);
  }
  const Tensor* boxes = layout.find("boxes");
  if (boxes != nullptr && is_rows(*boxes) && boxes->shape == std::vector<std::int64_t>{tensor.shape[0], kBoxValues}) {
    read_rows(path, *boxes, [&](std::span<const float> box) {
      faces.boxes.push_back({box[0], box[1], box[2], box[3], box[4]});
    });
  }
  return faces;
}

void write_embeddings(const fs::path& path, const StoredFaces& faces) {
  const auto rows = static_cast<std::int64_t>(faces.files.size());
  const auto dimensions = static_cast<std::int64_t>(faces.embeddings.dimensions);
  std::vector<float> boxes;
  for (const FaceBox& box : faces.boxes) {
    boxes.insert(boxes.end(), {box.x1, box.y1, box.x2, box.y2, box.probability});
  }
  weights::write_safetensors(path,
                             {{"embeddings", HostTensor::of_floats({rows, dimensions}, faces.embeddings.values)},
                              {"boxes", HostTensor::of_floats({rows, kBoxValues}, boxes)}},
                             {{"format", "evener-faces-1"},
                              {kSureKey, fmt::format("{}", faces.sure)},
                              {"files", weights::metadata_text(faces.files)}});
}

bool names_embeddings(const std::vector<std::string>& photos) {
  const auto is_file = [](const std::string& name) { return name.ends_with(".safetensors"); };
  if (std::ranges::none_of(photos, is_file)) return false;
  if (photos.size() > 1) throw UsageError("give one file of embeddings, and no photos beside it");
  return true;
}

FacesRun compare_embeddings(const FacesCommandFlags& flags, measure::Observer& line) {
  check_options(flags);
  const fs::path file = flags.photos.photos->front();
  const placement::Plan plan = flags.placement.plan();
  ComparisonRequest request = comparison_request(flags.comparison);
  for (const auto& replica : plan.replicas) {
    if (replica.stages.front().device.kind == DeviceKind::kCpu) continue;
    throw UsageError("embeddings are compared on CPUs; use --on cpu");
  }
  request.threads = placement::cpu_threads(plan);
  measure::MeteredRun run(run_options(flags, plan, /*resumes=*/false), line);
  std::vector<std::string> summary;
  record::Record record = run.measure([&] {
    const StoredFaces faces = read_embeddings(file);
    record::Record& record = run.record();
    record.config = record::config_from_json(flags.config());
    record.model.name = "embeddings";
    record.data.location = file.string();
    record.placement = measure::placement_record(plan);
    run.begin();
    line.note(fmt::format("{} of {} numbers on {}", counted(faces.embeddings.size(), "face"),
                          faces.embeddings.dimensions, plan.text));
    request.folder = run.folder();
    request.file_of = [&](std::size_t face) { return faces.files[face]; };
    const ComparedFaces compared =
        compare(faces.embeddings, facts_of(faces, *flags.comparison.founder_size), request, line);
    write_groups(run.folder() / "groups.csv", faces, compared.groups);
    const auto persons = static_cast<std::size_t>(*std::ranges::max_element(compared.groups) + 1);
    summary = {fmt::format("{}; {} seen more than once.", counted(faces.embeddings.size(), "face"),
                           counted(persons, "person"))};
    summary.insert(summary.end(), compared.summary.begin(), compared.summary.end());
    run.take_times(record);
    record.images_per_s.reason = "no photo was read";
    add_comparison(record, faces.embeddings.size(), persons);
    return record;
  });
  return {std::move(record), std::move(summary), run.folder()};
}

}  // namespace evener::faces
