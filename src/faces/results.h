// Writes the results of `evener faces`: faces.csv, embeddings.safetensors, pairs.csv, distances.npy, a page, and the
// persons for the next run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "data/open/pictures.h"
#include "faces/comparison.h"
#include "faces/known.h"
#include "faces/page/page.h"
#include "faces/persons/compare.h"
#include "faces/persons/group.h"
#include "faces/persons/track.h"
#include "faces/persons/verify.h"
#include "faces/photos/faces.h"
#include "measure/run/observer.h"
#include "record/record.h"

namespace evener::faces {

// Photos sorted into a folder for each person, by links.

/// A photo and the folders of the persons on it; without any it goes into "unknown".
struct SortedPhoto {
  std::filesystem::path file;
  std::set<std::string> persons;
};

/// The name of a person's folder: the person's name, or where that is empty "person-3" for number 2.
std::string person_folder(int person, const std::string& name);

/// Throws UsageError where `out` can't be sorted into: it holds anything that sort_photos() hasn't made, or lies within
/// one of the `photos`' folders, where its links would be taken for photos the next time.
void check_sort_folder(const std::filesystem::path& out, const std::vector<std::string>& photos);

/// Makes `out` a folder that has a folder of symbolic links to the photos for each person, and nothing else: links of
/// an earlier time that are no longer right are taken away. Returns the number of links. Throws UsageError where `out`
/// holds anything else, and Error where a link can't be made.
std::size_t sort_photos(const std::filesystem::path& out, const std::vector<SortedPhoto>& photos);

// Faces of videos: one for each track, in place of one for each frame.

/// How long a track's face is in view.
struct TrackSpan {
  double first_s = 0, last_s = 0;
  std::size_t frames = 0;  // on which it was found
};

/// The spans of the faces that stand for tracks, by the number of their photo and by their place on it.
using TrackSpans = std::map<std::pair<std::size_t, std::size_t>, TrackSpan>;

struct VideoTracks {
  TrackSpans spans;
  std::vector<std::string> summary;  // a sentence for each video
  bool has_videos = false;
};

/// Links the faces of each video (or camera) into tracks. Of the faces in `all` the best of each track is kept, with
/// the track's mean embedding; its thumbnail is taken from `journal` where it was dropped. Writes all faces with their
/// tracks into tracks.csv of `folder`. Changes nothing of photos.
VideoTracks keep_tracks(std::vector<PhotoFaces>& all, const data::Pictures& photos, const std::filesystem::path& folder,
                        const std::filesystem::path& journal);

/// A photo that was looked at, in this run or an earlier one.
struct SeenPhoto {
  std::size_t photo = 0;  // its number
  std::uint64_t content = 0;
  std::size_t faces = 0, first = 0;  // how many, and the first one's place in FoundFaces::faces
};

/// All faces of a run, in the order of the photos.
struct FoundFaces {
  std::vector<SeenPhoto> photos;
  std::vector<EmbeddedFace> faces;  // without their embeddings
  std::vector<bool> clear;          // for each face whether it is large and likely enough to found a group
  Embeddings embeddings;
  std::vector<int> persons;  // of each face, from 0; -1 = like no other
  ComparedFaces compared;
  float limit = 1;
  std::size_t person_count = 0;
  int first_new_person = 0;  // the first number that no person has had
  PersonNames names;         // of the persons
};

/// Brings the faces of all photos together, in the order of the photos. `founder`: of a face that may found a
/// group. Throws Error where embeddings differ in length.
FoundFaces gather_faces(std::vector<PhotoFaces> photos, const FounderRule& founder);

/// Compares the faces, groups them into persons, and writes the tables about pairs. Persons in `known` keep their
/// numbers.
void compare_faces(FoundFaces& found, const data::Pictures& photos, ComparisonRequest request, const KnownFaces& known,
                   measure::Observer& line);

/// Gives the names of persons to those who have their faces now (PersonNames::follow). `names`: those in the folder;
/// `earlier`: the run whose persons they name. Returns notes on names that found no person.
std::vector<std::string> take_names(FoundFaces& found, PersonNames names, const KnownFaces& earlier);

/// Links the photos into folders of persons below `out`, and returns a sentence with their number. Throws as
/// sort_photos().
std::string sort_by_person(const std::filesystem::path& out, const FoundFaces& found, const data::Pictures& photos);

/// Writes the other files into `folder`. `page`: its texts and tables beside the faces. `sure`: see FounderRule. Throws
/// Error where one can't be written.
void write_faces(const std::filesystem::path& folder, const FoundFaces& found, const data::Pictures& photos,
                 const VideoTracks& tracks, FacesPage page, float sure);

struct PhotoPair {
  std::size_t first = 0, second = 0;  // numbers of photos
  bool same = false;
};

/// Reads lines of two files and 1 (one person) or 0, separated by commas, tabs or blanks; empty lines, lines that begin
/// with # and a heading are passed over. Files are named as among `photos`, or from the list's folder. Throws
/// UsageError naming the line that is no such pair, or whose file is not among the photos, and for too few pairs to
/// judge.
std::vector<PhotoPair> read_photo_pairs(const std::filesystem::path& list, const data::Pictures& photos);

struct JudgedPhotos {
  std::optional<Verification> result;  // absent where too few pairs have faces
  std::string refusal;                 // why there is no result
  std::size_t without_face = 0;        // pairs with a photo without a face, which could not be judged
};

/// Compares the largest faces of the photos of each pair, and writes the distances to `table`.
JudgedPhotos judge_pairs(const std::vector<PhotoPair>& pairs, const FoundFaces& found, const data::Pictures& photos,
                         const std::filesystem::path& table);

/// A sentence on a result, which must be there: "60 pairs of one person and 60 of two: 98.33 % told rightly, ...".
std::string judgement_text(const JudgedPhotos& judged);
/// Adds the figures of the judgement to the record.
void add_judgement(record::Record& record, const Verification& result);

}  // namespace evener::faces
