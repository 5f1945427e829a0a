#include "faces/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

#include "base/csv.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/plural.h"
#include "base/utf8.h"
#include "data/passed_over.h"
#include "data/sort_folder.h"
#include "faces/comparison.h"
#include "faces/growing_results.h"
#include "faces/known.h"
#include "faces/page/page.h"
#include "faces/photos/journal.h"
#include "report/format.h"

namespace evener::faces {
namespace {

namespace fs = std::filesystem;

/// Marks a folder as made by sort_photos(), so that a folder of the user's own links isn't taken for one and cleared.
constexpr const char* kSortMark = ".evener-faces";
constexpr const char* kUnknown = "unknown";

[[noreturn]] void refuse(const fs::path& out, const fs::path& what) {
  throw UsageError(
      fmt::format("--sort '{}' holds '{}', which is no link that --sort made: it sorts into a folder that is new or "
                  "empty, or that it has sorted into before. Give it another one, or move that away",
                  out.string(), what.lexically_relative(out).string()));
}

/// What may lie among the links: a server's thumbnails, and our own mark.
bool is_harmless(const fs::path& path) {
  return data::is_system_folder(path) || path.filename() == data::kNoClassMark;
}

/// Throws UsageError where there is anything that sort_photos() hasn't made.
void check_content(const fs::path& out) {
  const fs::file_status status = fs::status(out);
  if (!fs::exists(status)) return;
  if (!fs::is_directory(status)) throw UsageError("--sort '" + out.string() + "' is no folder; name one");
  const bool is_ours = fs::exists(out / kSortMark);
  for (const auto& entry : fs::directory_iterator(out)) {
    if (entry.path().filename() == kSortMark || data::is_system_folder(entry.path())) continue;
    if (!is_ours || entry.is_symlink() || !entry.is_directory()) refuse(out, entry.path());
    for (const auto& link : fs::directory_iterator(entry)) {
      if (!link.is_symlink() && !is_harmless(link.path())) refuse(out, link.path());
    }
  }
}

/// Links that are to be: of each folder, by their names.
using Links = std::map<std::string, std::map<std::string, fs::path>>;

Links links_of(const std::vector<SortedPhoto>& photos) {
  Links links;
  for (const SortedPhoto& photo : photos) {
    const fs::path target = fs::absolute(photo.file).lexically_normal();
    const std::set<std::string> unknown = {kUnknown};
    for (const std::string& person : photo.persons.empty() ? unknown : photo.persons) {
      auto& folder = links[person];
      folder.emplace(data::free_name(target, [&](const std::string& name) { return folder.contains(name); }), target);
    }
  }
  return links;
}

void remove_wrong_links(const fs::path& out, const Links& links) {
  std::vector<fs::path> wrong;
  for (const auto& folder : fs::directory_iterator(out)) {
    if (!folder.is_directory() || data::is_system_folder(folder.path())) continue;
    const auto wanted = links.find(folder.path().filename().string());
    for (const auto& link : fs::directory_iterator(folder)) {
      const auto stays = [&](const std::map<std::string, fs::path>& names) {
        const auto found = names.find(link.path().filename().string());
        return found != names.end() && found->second == fs::read_symlink(link.path());
      };
      if (is_harmless(link.path())) continue;
      if (wanted == links.end() || !stays(wanted->second)) wrong.push_back(link.path());
    }
    if (wanted != links.end()) continue;
    wrong.push_back(folder.path() / data::kNoClassMark);
    wrong.push_back(folder.path());  // after all that is in it
  }
  for (const fs::path& path : wrong) {
    std::error_code error;
    fs::remove(path, error);
    if (error && error != std::errc::directory_not_empty) throw fs::filesystem_error("", path, error);
  }
}

constexpr std::size_t kMostPairsOnPage = 10'000;  // of which it shows some

/// The columns of tracks behind those of faces_rows(), which are empty for photos.
std::vector<std::string> span_columns(std::size_t photo, std::size_t faces, const VideoTracks& tracks) {
  std::vector<std::string> columns;
  for (std::size_t face = 0; tracks.has_videos && face < faces; ++face) {
    const auto span = tracks.spans.find({photo, face});
    columns.push_back(span == tracks.spans.end() ? ",,,"
                                                 : fmt::format(",{:.3f},{:.3f},{}", span->second.first_s,
                                                               span->second.last_s, span->second.frames));
  }
  return columns;
}

void write_table(const fs::path& path, const FoundFaces& found, const data::Pictures& photos,
                 const VideoTracks& tracks) {
  write_file_atomically(path, [&](std::ostream& out) {
    out << faces_heading() << (tracks.has_videos ? ",first_s,last_s,frames\n" : "\n");
    for (const SeenPhoto& seen : found.photos) {
      const auto begin = static_cast<std::ptrdiff_t>(seen.first), end = begin + static_cast<std::ptrdiff_t>(seen.faces);
      out << faces_rows(photos.source(seen.photo), {found.faces.begin() + begin, found.faces.begin() + end},
                        {found.persons.begin() + begin, found.persons.begin() + end}, found.names,
                        span_columns(seen.photo, seen.faces, tracks));
    }
  });
}

/// What the page says of where a face was seen.
std::string seen_text(const data::Pictures& photos, std::size_t photo, std::size_t face, const TrackSpans& spans) {
  const auto span = spans.find({photo, face});
  if (span == spans.end()) return photos.source(photo);
  return fmt::format("{}, from {:.1f} s to {:.1f} s on {}", photos.source(photo), span->second.first_s,
                     span->second.last_s, counted(span->second.frames, "frame"));
}

/// The address of a photo, or of a video at the frame's time, for a page in `folder`, which may be moved with the
/// photos.
std::string address_of(const fs::path& folder, const data::Pictures& photos, std::size_t photo) {
  if (photos.live() != nullptr) return "";
  const fs::path target = fs::absolute(photos.file(photo)).lexically_normal();
  const std::string link =
      report::url_path(target.lexically_relative(fs::absolute(folder).lexically_normal()).string());
  const auto time_s = photos.time_s(photo);
  return time_s ? fmt::format("{}#t={:.3f}", link, *time_s) : link;
}

void put_faces(FacesPage& page, const fs::path& folder, const FoundFaces& found, const data::Pictures& photos,
               const VideoTracks& tracks) {
  page.names_file = to_utf8_text(names_file(folder).string());
  page.names = found.names.all();
  page.photos = found.photos.size();
  page.all_faces = found.faces.size();
  page.limit = found.limit;
  page.histogram = found.compared.histogram;
  std::vector<std::optional<std::size_t>> place(found.faces.size());  // of a face on the page
  std::size_t on_photo = 0;                                           // the face's place on its photo
  for (std::size_t i = 0; i < found.faces.size() && page.faces.size() < kMostThumbnails; ++i) {
    const EmbeddedFace& face = found.faces[i];
    on_photo = i > 0 && found.faces[i - 1].photo == face.photo ? on_photo + 1 : 0;
    if (face.thumbnail.empty()) continue;
    place[i] = page.faces.size();
    const FaceBox& box = face.face.box;
    page.faces.push_back({.file = to_utf8_text(seen_text(photos, face.photo, on_photo, tracks.spans)),
                          .image = face.thumbnail,
                          .probability = box.probability,
                          .group = found.persons[i],
                          .clear = found.clear[i],
                          .link = address_of(folder, photos, face.photo),
                          .box = {box.x1, box.y1, box.x2, box.y2}});
  }
  for (const NearPair& pair : found.compared.pairs) {
    if (page.pairs.size() == kMostPairsOnPage) break;
    // What looks like a face in a blur looks like every other blur.
    if (!found.clear[pair.first] || !found.clear[pair.second]) continue;
    if (place[pair.first] && place[pair.second]) {
      page.pairs.push_back({*place[pair.first], *place[pair.second], pair.distance});
    }
  }
}

/// Who is on which photo.
std::vector<PersonsOnPhoto> persons_by_photo(const FoundFaces& found, const data::Pictures& photos) {
  std::vector<PersonsOnPhoto> persons;
  for (const SeenPhoto& seen : found.photos) {
    const auto first = found.persons.begin() + static_cast<std::ptrdiff_t>(seen.first);
    persons.push_back(
        {photos.source(seen.photo), seen.content, {first, first + static_cast<std::ptrdiff_t>(seen.faces)}});
  }
  return persons;
}

/// The numbers that faces had before.
std::vector<int> numbers_before(const FoundFaces& found, const KnownFaces& known) {
  std::vector<int> numbers;
  for (const SeenPhoto& seen : found.photos) {
    std::vector<int> persons = known.persons(seen.content);
    if (persons.size() != seen.faces) persons.clear();  // found in another way
    persons.resize(seen.faces, -1);
    numbers.insert(numbers.end(), persons.begin(), persons.end());
  }
  return numbers;
}

std::vector<std::string> fields_of(const std::string& line) {
  if (line.find_first_of(",\t") != std::string::npos) {
    return csv_cells(line, line.find('\t') != std::string::npos ? "\t" : ",");
  }
  std::istringstream words(line);
  return {std::istream_iterator<std::string>(words), {}};
}

/// Why so many pairs of one person and of two can't be judged; "" if they can.
std::string too_few_text(std::size_t same, std::size_t different) {
  if (std::min(same, different) >= kFewestPairs) return "";
  return fmt::format("at least {} of one person and {} of two are judged, and there are {} and {}", kFewestPairs,
                     kFewestPairs, same, different);
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

/// The frames of one video among all photos.
struct VideoPart {
  std::string name;
  std::vector<PhotoFaces*> frames;  // in order
};

std::vector<VideoPart> video_parts(std::vector<PhotoFaces>& all, const data::Pictures& photos) {
  std::vector<VideoPart> parts;
  for (PhotoFaces& photo : all) {
    const data::Pictures::Video* const video = photos.video_of(photo.photo);
    if (video == nullptr && photos.live() == nullptr) continue;
    const std::string& name = video != nullptr ? video->file : photos.live()->source();
    if (parts.empty() || parts.back().name != name) parts.push_back({name, {}});
    parts.back().frames.push_back(&photo);
  }
  return parts;
}

std::string rows_of(const VideoPart& part, const std::vector<FrameFaces>& frames,
                    const std::vector<FaceTrack>& tracks) {
  const std::string name = csv_cell(to_utf8_text(part.name));
  std::string rows;
  for (std::size_t t = 0; t < tracks.size(); ++t) {
    for (const TrackedFace& one : tracks[t].faces) {
      const FaceBox& box = (*frames[one.frame].faces)[one.face].face.box;
      rows += fmt::format("{},{},{:.3f},{:.2f},{:.2f},{:.2f},{:.2f},{:.6f}\n", name, t + 1, frames[one.frame].time_s,
                          box.x1, box.y1, box.x2, box.y2, box.probability);
    }
  }
  return rows;
}

/// Brings back thumbnails that were dropped to save memory. `wanted`: by the photo's content and the face's place.
void take_thumbnails(const std::filesystem::path& journal,
                     const std::map<std::pair<std::uint64_t, std::size_t>, EmbeddedFace*>& wanted) {
  if (wanted.empty()) return;
  read_journal(
      journal, [](const nlohmann::json&) {},
      [&](PhotoFaces photo) {
        for (std::size_t i = 0; i < photo.faces.size(); ++i) {
          const auto found = wanted.find({photo.content, i});
          if (found != wanted.end()) found->second->thumbnail = std::move(photo.faces[i].thumbnail);
        }
      });
}

}  // namespace

std::string person_folder(int person, const std::string& name) {
  return name.empty() ? fmt::format("person-{}", person + 1) : data::folder_name(name);
}

void check_sort_folder(const fs::path& out, const std::vector<std::string>& photos) {
  data::require_beside_photos(out, photos);
  check_content(out);
  data::require_writable_place("--sort", out);
}

std::size_t sort_photos(const fs::path& out, const std::vector<SortedPhoto>& photos) {
  check_content(out);
  try {
    fs::create_directories(out);
    write_file_atomically(out / kSortMark,
                          "evener faces --sort keeps this folder: it has nothing but links to photos.\n");
    const Links links = links_of(photos);
    remove_wrong_links(out, links);
    std::size_t count = 0;
    for (const auto& [folder, names] : links) {
      fs::create_directories(out / folder);
      for (const auto& [name, target] : names) {
        ++count;
        if (!fs::is_symlink(out / folder / name)) fs::create_symlink(target, out / folder / name);
      }
      if (folder == kUnknown) data::mark_as_no_class(out / folder);
    }
    return count;
  } catch (const fs::filesystem_error& error) {
    throw Error(fmt::format("can't sort photos into '{}': '{}': {}", out.string(), error.path1().string(),
                            error.code().message()));
  }
}

FoundFaces gather_faces(std::vector<PhotoFaces> photos, const FounderRule& founder) {
  FoundFaces found;
  std::ranges::sort(photos, {}, &PhotoFaces::photo);
  for (PhotoFaces& photo : photos) {
    found.photos.push_back({photo.photo, photo.content, photo.faces.size(), found.faces.size()});
    for (EmbeddedFace& face : photo.faces) {
      if (found.embeddings.dimensions != 0 && face.embedding.size() != found.embeddings.dimensions) {
        throw Error(
            fmt::format("a face that was found before has {} numbers and others have {}: --overwrite begins anew",
                        face.embedding.size(), found.embeddings.dimensions));
      }
      found.embeddings.add(face.embedding);
      face.embedding = {};
      found.clear.push_back(may_found(face.face.box, founder));
      found.faces.push_back(std::move(face));
    }
  }
  return found;
}

void compare_faces(FoundFaces& found, const data::Pictures& photos, ComparisonRequest request, const KnownFaces& known,
                   measure::Observer& line) {
  found.limit = request.limit;
  std::vector<FaceFacts> facts;
  FacesApart apart(request.folder);
  for (const SeenPhoto& seen : found.photos) {
    for (std::size_t face = 0; face < seen.faces; ++face) {
      const std::size_t i = seen.first + face;
      facts.push_back({found.faces[i].photo, found.clear[i]});
      if (apart.contains(photos.source(seen.photo), face)) request.apart.insert(i);
    }
  }
  request.file_of = [&](std::size_t face) { return photos.source(found.faces[face].photo); };
  found.compared = compare(found.embeddings, facts, request, line);
  for (std::string& note : apart.notes()) found.compared.summary.push_back(std::move(note));
  const std::vector<int>& groups = found.compared.groups;
  found.person_count = groups.empty() ? 0 : static_cast<std::size_t>(*std::ranges::max_element(groups) + 1);
  found.persons = keep_numbers(groups, numbers_before(found, known), known.first_new_person());
  found.first_new_person = known.first_new_person();
  for (const int person : found.persons) found.first_new_person = std::max(found.first_new_person, person + 1);
}

std::vector<std::string> take_names(FoundFaces& found, PersonNames names, const KnownFaces& earlier) {
  std::vector<std::string> notes = names.follow(numbers_before(found, earlier), found.persons);
  found.names = std::move(names);
  return notes;
}

std::string sort_by_person(const fs::path& out, const FoundFaces& found, const data::Pictures& photos) {
  std::vector<SortedPhoto> sorted;
  std::set<std::string> folders;
  std::vector<std::string> names;
  for (const int person : found.persons) names.push_back(person < 0 ? "" : found.names.of(person));
  const std::map<std::string, std::string> named = data::folders_of(names);
  for (const SeenPhoto& seen : found.photos) {
    SortedPhoto photo{photos.file(seen.photo), {}};
    for (std::size_t i = seen.first; i < seen.first + seen.faces; ++i) {
      const int person = found.persons[i];
      if (person < 0) continue;
      const auto name = named.find(names[i]);
      photo.persons.insert(person_folder(person, name == named.end() ? "" : name->second));
    }
    folders.insert(photo.persons.begin(), photo.persons.end());
    if (!sorted.empty() && sorted.back().file == photo.file) {  // another frame of a video
      sorted.back().persons.merge(photo.persons);
    } else {
      sorted.push_back(std::move(photo));
    }
  }
  const std::size_t links = sort_photos(out, sorted);
  return fmt::format("{} sorted into folders of {} in {}, by {}.", counted(sorted.size(), "photo"),
                     counted(folders.size(), "person"), out.string(), counted(links, "link"));
}

void write_faces(const fs::path& folder, const FoundFaces& found, const data::Pictures& photos,
                 const VideoTracks& tracks, FacesPage page, float sure) {
  write_table(folder / "faces.csv", found, photos, tracks);
  StoredFaces stored{found.embeddings, {}, {}, sure};
  for (const EmbeddedFace& face : found.faces) {
    stored.files.push_back(photos.source(face.photo));
    stored.boxes.push_back(face.face.box);
  }
  const fs::path embeddings = folder / "embeddings.safetensors";
  if (stored.files.empty()) {
    fs::remove(embeddings);  // of a run that was here before
  } else {
    write_embeddings(embeddings, stored);
  }
  write_persons(folder, persons_by_photo(found, photos), found.first_new_person);
  std::set<int> persons(found.persons.begin(), found.persons.end());
  persons.erase(-1);
  found.names.write(folder, persons);
  put_faces(page, folder, found, photos, tracks);
  write_file_atomically(folder / "faces.html", faces_html(page));
}

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
  std::vector<JudgedPair> distances;
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
  const auto same = static_cast<std::size_t>(std::ranges::count(distances, true, &JudgedPair::same));
  judged.refusal = too_few_text(same, distances.size() - same);
  if (judged.refusal.empty()) judged.result = verify(distances);
  return judged;
}

std::string judgement_text(const JudgedPhotos& judged) {
  const Verification& result = *judged.result;
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

void add_judgement(record::Record& record, const Verification& result) {
  const char* const title = "pairs told rightly";
  record::add_metric(record, record::quality_share("pair_accuracy", title, title, result.accuracy));
  record::Metric error = record::quality_share("equal_error_rate", "EER", "equal error rate", result.equal_error_rate);
  error.better = record::Better::kLower;
  record::add_metric(record, std::move(error));
}

VideoTracks keep_tracks(std::vector<PhotoFaces>& all, const data::Pictures& photos, const std::filesystem::path& folder,
                        const std::filesystem::path& journal) {
  VideoTracks told;
  told.has_videos = photos.live() != nullptr || !photos.videos().empty();
  if (!told.has_videos) return told;
  std::ranges::sort(all, {}, &PhotoFaces::photo);
  std::string rows = "video,track,time_s,x1,y1,x2,y2,probability\n";
  std::map<std::pair<std::uint64_t, std::size_t>, EmbeddedFace*> without_thumbnail;
  for (const VideoPart& part : video_parts(all, photos)) {
    std::vector<FrameFaces> frames;
    for (const PhotoFaces* frame : part.frames) {
      frames.push_back({photos.time_s(frame->photo).value_or(0), &frame->faces});
    }
    const std::vector<FaceTrack> tracks = link_faces(frames);
    rows += rows_of(part, frames, tracks);
    std::size_t faces = 0;
    std::vector<std::vector<EmbeddedFace>> best(part.frames.size());
    std::vector<std::vector<std::size_t>> places(part.frames.size());  // on their frames before
    for (const FaceTrack& track : tracks) {
      faces += track.faces.size();
      const TrackedFace& one = track.faces[track.best];
      PhotoFaces& frame = *part.frames[one.frame];
      told.spans[{frame.photo, best[one.frame].size()}] = {track.first_s, track.last_s, track.faces.size()};
      best[one.frame].push_back(std::move(frame.faces[one.face]));
      best[one.frame].back().embedding = track.embedding;
      places[one.frame].push_back(one.face);
    }
    for (std::size_t i = 0; i < part.frames.size(); ++i) {
      part.frames[i]->faces = std::move(best[i]);
      for (std::size_t f = 0; f < places[i].size(); ++f) {
        EmbeddedFace& face = part.frames[i]->faces[f];
        if (face.thumbnail.empty()) without_thumbnail[{part.frames[i]->content, places[i][f]}] = &face;
      }
    }
    told.summary.push_back(fmt::format("{}: {} on {} make {}, each of a person for as long as they are in view.",
                                       part.name, counted(faces, "face"), counted(part.frames.size(), "frame"),
                                       counted(tracks.size(), "track")));
  }
  if (without_thumbnail.size() <= kMostThumbnails) take_thumbnails(journal, without_thumbnail);
  write_file_atomically(folder / "tracks.csv", rows);
  return told;
}

}  // namespace evener::faces
