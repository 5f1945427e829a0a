#include "cli/faces_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/utf8.h"
#include "cli/faces_tables.h"
#include "report/faces_page.h"
#include "report/format.h"
#include "weights/metadata_json.h"
#include "weights/safetensors.h"

namespace evener::cli {
namespace {

namespace fs = std::filesystem;

constexpr float kClear = 0.95F;                   // probability of a face that may found a group
constexpr std::size_t kMostPairsOnPage = 10'000;  // of which it shows some
/// A matrix of more faces than this (400 MB) is no file that anyone opens; pairs.csv has what is near.
constexpr std::size_t kMostInMatrix = 10'000;

bool may_found(const task::FaceBox& box, int founder_size) {
  return std::min(box.x2 - box.x1, box.y2 - box.y1) >= static_cast<float>(founder_size) && box.probability >= kClear;
}

/// Calls `tell` with each photo's name, its faces from `first` on, and how many they are.
template <class Tell>
void for_each_photo(const FoundFaces& found, const data::Pictures& photos, const Tell& tell) {
  std::size_t first = 0;
  for (const SeenPhoto& seen : found.photos) {
    tell(photos.source(seen.photo), first, seen.faces);
    first += seen.faces;
  }
}

void write_table(const fs::path& path, const FoundFaces& found, const data::Pictures& photos) {
  write_file_atomically(path, [&](std::ostream& out) {
    out << faces_heading();
    for_each_photo(found, photos, [&](const std::string& file, std::size_t first, std::size_t count) {
      const auto begin = static_cast<std::ptrdiff_t>(first), end = begin + static_cast<std::ptrdiff_t>(count);
      out << faces_rows(file, {found.faces.begin() + begin, found.faces.begin() + end},
                        {found.persons.begin() + begin, found.persons.begin() + end});
    });
  });
}

void write_pairs(const fs::path& path, const FoundFaces& found, const data::Pictures& photos) {
  write_file_atomically(path, [&](std::ostream& out) {
    out << "face_a,file_a,face_b,file_b,distance,cosine\n";
    const auto file = [&](std::size_t face) {
      return report::csv_cell(to_utf8_text(photos.source(found.faces[face].photo)));
    };
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

report::FacesPage page_of(const FoundFaces& found, const data::Pictures& photos, const FacesStory& story) {
  report::FacesPage page;
  page.title = story.title;
  page.summary = story.summary;
  page.photos = found.photos.size();
  page.all_faces = found.faces.size();
  page.limit = found.limit;
  page.histogram = found.histogram;
  page.judgement = story.judgement;
  std::vector<std::optional<std::size_t>> place(found.faces.size());  // of a face on the page
  for (std::size_t i = 0; i < found.faces.size() && page.faces.size() < kMostThumbnails; ++i) {
    const task::EmbeddedFace& face = found.faces[i];
    if (face.thumbnail.empty()) continue;
    place[i] = page.faces.size();
    page.faces.push_back({to_utf8_text(photos.source(face.photo)), face.thumbnail, face.face.box.probability,
                          found.persons[i], found.clear[i]});
  }
  for (const task::NearPair& pair : found.pairs) {
    if (page.pairs.size() == kMostPairsOnPage) break;
    // What looks like a face in a blur looks like every other blur.
    if (!found.clear[pair.first] || !found.clear[pair.second]) continue;
    if (place[pair.first] && place[pair.second]) {
      page.pairs.push_back({*place[pair.first], *place[pair.second], pair.distance});
    }
  }
  return page;
}

/// Who is on which photo.
std::vector<PersonsOnPhoto> persons_by_photo(const FoundFaces& found, const data::Pictures& photos) {
  std::vector<PersonsOnPhoto> persons;
  auto person = found.persons.begin();
  for (const SeenPhoto& seen : found.photos) {
    const auto end = person + static_cast<std::ptrdiff_t>(seen.faces);
    persons.push_back({photos.source(seen.photo), seen.content, {person, end}});
    person = end;
  }
  return persons;
}

/// The numbers that faces had before.
std::vector<int> numbers_before(const FoundFaces& found, const KnownFaces& known) {
  std::vector<int> numbers;
  for (const SeenPhoto& seen : found.photos) {
    std::vector<int> persons = known.persons(seen.content);
    persons.resize(seen.faces, -1);
    numbers.insert(numbers.end(), persons.begin(), persons.end());
  }
  return numbers;
}

}  // namespace

FoundFaces compare_faces(std::vector<task::PhotoFaces> photos, float limit, int founder_size, const KnownFaces& known,
                         int threads) {
  FoundFaces found;
  found.limit = limit;
  std::ranges::sort(photos, {}, &task::PhotoFaces::photo);
  std::vector<task::FaceFacts> facts;
  for (task::PhotoFaces& photo : photos) {
    found.photos.push_back({photo.photo, photo.content, photo.faces.size()});
    for (task::EmbeddedFace& face : photo.faces) {
      if (found.embeddings.dimensions != 0 && face.embedding.size() != found.embeddings.dimensions) {
        throw Error(
            fmt::format("a face that was found before has {} numbers and others have {}: --overwrite begins anew",
                        face.embedding.size(), found.embeddings.dimensions));
      }
      found.embeddings.add(face.embedding);
      face.embedding = {};
      found.clear.push_back(may_found(face.face.box, founder_size));
      facts.push_back({photo.photo, found.clear.back()});
      found.faces.push_back(std::move(face));
    }
  }
  task::Comparison compared = task::compare_all(found.embeddings, {.limit = limit, .threads = threads});
  found.histogram = std::move(compared.histogram);
  found.pairs = std::move(compared.pairs);
  found.pairs_within = compared.pairs_within;
  const std::vector<int> groups = task::group_faces(found.embeddings, facts, compared.to_group, {limit});
  found.person_count = groups.empty() ? 0 : static_cast<std::size_t>(*std::ranges::max_element(groups) + 1);
  found.persons = task::keep_numbers(groups, numbers_before(found, known), known.first_new_person());
  found.first_new_person = known.first_new_person();
  for (const int person : found.persons) found.first_new_person = std::max(found.first_new_person, person + 1);
  return found;
}

void write_faces(const fs::path& folder, const FoundFaces& found, const data::Pictures& photos, const FacesStory& story,
                 int threads) {
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
  write_persons(folder, persons_by_photo(found, photos), found.first_new_person);
  write_file_atomically(folder / "faces.html", report::faces_html(page_of(found, photos, story)));
}

}  // namespace evener::cli
