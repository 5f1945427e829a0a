#include "cli/faces_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/utf8.h"
#include "data/codecs/colour.h"
#include "data/codecs/png_encode.h"
#include "report/faces_page.h"
#include "weights/metadata_json.h"
#include "weights/safetensors.h"

namespace evener::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBins = 100;
constexpr float kLargestDistance = 2;
constexpr float kClear = 0.95F;                 // probability of a face that may found a group
constexpr std::size_t kMostFacesOnPage = 2000;  // some 10 kB each
constexpr std::size_t kMostPairsOnPage = 24;
/// A matrix of more faces than this (400 MB) is no file that anyone opens; pairs.csv has what is near.
constexpr std::size_t kMostInMatrix = 10'000;

/// A field of a CSV file (RFC 4180).
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

bool may_found(const task::FaceBox& box, int founder_size) {
  return std::min(box.x2 - box.x1, box.y2 - box.y1) >= static_cast<float>(founder_size) && box.probability >= kClear;
}

void write_table(const fs::path& path, const FoundFaces& found, const data::Pictures& photos) {
  write_file_atomically(path, [&](std::ostream& out) {
    out << "file,x1,y1,x2,y2,probability,person";
    for (const char* part : {"left_eye", "right_eye", "nose", "mouth_left", "mouth_right"}) {
      out << ',' << part << "_x," << part << "_y";
    }
    out << '\n';
    for (std::size_t i = 0; i < found.faces.size(); ++i) {
      const task::Face& face = found.faces[i].face;
      const task::FaceBox& box = face.box;
      out << fmt::format("{},{:.2f},{:.2f},{:.2f},{:.2f},{:.6f},{}",
                         csv_field(to_utf8_text(photos.source(found.faces[i].photo))), box.x1, box.y1, box.x2, box.y2,
                         box.probability, found.groups[i] < 0 ? "" : std::to_string(found.groups[i] + 1));
      for (const task::Point& point : face.landmarks) out << fmt::format(",{:.2f},{:.2f}", point.x, point.y);
      out << '\n';
    }
  });
}

void write_pairs(const fs::path& path, const FoundFaces& found, const data::Pictures& photos) {
  write_file_atomically(path, [&](std::ostream& out) {
    out << "face_a,file_a,face_b,file_b,distance,cosine\n";
    const auto file = [&](std::size_t face) { return csv_field(to_utf8_text(photos.source(found.faces[face].photo))); };
    for (const task::NearPair& pair : found.pairs) {
      out << fmt::format("{},{},{},{},{:.6f},{:.6f}\n", pair.first, file(pair.first), pair.second, file(pair.second),
                         pair.distance, 1 - pair.distance * pair.distance / 2);
    }
  });
}

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

std::string png_of(const data::Picture& picture) {
  std::vector<std::uint8_t> planes(picture.bytes());
  data::write_planes(picture, picture.channels, planes);
  return data::encode_png({picture.channels, picture.height, picture.width}, planes);
}

report::FacesPage page_of(const FoundFaces& found, const data::Pictures& photos) {
  report::FacesPage page;
  page.limit = found.limit;
  page.histogram = found.histogram;
  for (std::size_t i = 0; i < std::min(found.faces.size(), kMostFacesOnPage); ++i) {
    const task::EmbeddedFace& face = found.faces[i];
    page.faces.push_back(
        {to_utf8_text(photos.source(face.photo)), png_of(face.thumbnail), face.face.box.probability, found.groups[i]});
  }
  for (const task::NearPair& pair : found.pairs) {
    if (page.pairs.size() == kMostPairsOnPage) break;
    if (pair.second < page.faces.size()) page.pairs.push_back({pair.first, pair.second, pair.distance});
  }
  return page;
}

}  // namespace

FoundFaces compare_faces(std::vector<task::EmbeddedFace> faces, float limit, int founder_size, int threads) {
  FoundFaces found;
  found.limit = limit;
  std::vector<task::FaceFacts> facts;
  for (task::EmbeddedFace& face : faces) {
    found.embeddings.add(face.embedding);
    face.embedding = {};
    facts.push_back({face.photo, may_found(face.face.box, founder_size)});
  }
  found.faces = std::move(faces);
  const std::size_t all = found.faces.size();
  found.histogram.assign(kBins, 0);
  task::each_distance_block(found.embeddings, threads,
                            [&](std::size_t begin, std::size_t end, std::span<const float> distances) {
                              for (std::size_t row = begin; row < end; ++row) {
                                for (std::size_t other = row + 1; other < all; ++other) {
                                  const float distance = distances[(row - begin) * all + other];
                                  const auto bin = static_cast<std::size_t>(distance / kLargestDistance * kBins);
                                  ++found.histogram[std::min(bin, kBins - 1)];
                                  if (distance <= limit) found.pairs.push_back({row, other, distance});
                                }
                              }
                            });
  std::ranges::stable_sort(found.pairs, {}, &task::NearPair::distance);
  found.groups = task::group_faces(found.embeddings, facts, found.pairs, {limit});
  found.persons = found.groups.empty() ? 0 : static_cast<std::size_t>(*std::ranges::max_element(found.groups) + 1);
  return found;
}

void write_faces(const fs::path& folder, const FoundFaces& found, const data::Pictures& photos,
                 const std::string& title, const std::vector<std::string>& summary, int threads) {
  write_table(folder / "faces.csv", found, photos);
  write_pairs(folder / "pairs.csv", found, photos);
  if (!found.faces.empty() && found.faces.size() <= kMostInMatrix) {
    write_matrix(folder / "distances.npy", found.embeddings, threads);
  }
  std::vector<std::string> files;
  for (const task::EmbeddedFace& face : found.faces) files.push_back(photos.source(face.photo));
  if (!files.empty()) {
    const auto rows = static_cast<std::int64_t>(files.size());
    const auto dimensions = static_cast<std::int64_t>(found.embeddings.dimensions);
    weights::write_safetensors(folder / "embeddings.safetensors",
                               {{"embeddings", HostTensor::of_floats({rows, dimensions}, found.embeddings.values)}},
                               {{"format", "evener-faces-1"}, {"files", weights::metadata_text(files)}});
  }
  report::FacesPage page = page_of(found, photos);
  page.title = title;
  page.summary = summary;
  if (found.faces.size() > page.faces.size()) {
    page.summary.push_back(fmt::format("The page shows the first {} faces; faces.csv has all.", page.faces.size()));
  }
  write_file_atomically(folder / "faces.html", report::faces_html(page));
}

}  // namespace evener::cli
