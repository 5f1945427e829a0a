// Reads what an earlier run of `evener faces` left in its folder for the next run: the faces of photos, recognised by
// the photos' content, and which person each face was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "data/open/pictures.h"
#include "faces/comparison.h"
#include "faces/options.h"
#include "faces/photos/faces.h"
#include "faces/photos/journal.h"

namespace evener::faces {

/// The settings on which found faces depend: faces found with other settings can't be reused. Networks in files are
/// told by a hash of their contents. Throws Error where such a file can't be read.
nlohmann::json face_settings(const FaceNetworkFlags& flags, const FacesPlacementFlags& placement,
                             const EmbedderRequest& embedder, const DetectorRequest& detector);

/// The most thumbnails that are kept in memory. The page shows no more, and memory must not grow with the photos.
inline constexpr std::size_t kMostThumbnails = 1000;

/// The journal's file in a run's folder.
std::filesystem::path faces_journal(const std::filesystem::path& folder);
/// Begins the journal. `settings`: those by which faces are found, which KnownFaces compares; `notes`: for
/// KnownFaces::notes(); `sure`: for KnownFaces::sure().
FacesJournal begin_faces_journal(const std::filesystem::path& folder, nlohmann::json settings,
                                 const std::vector<std::string>& notes, float sure);

/// A photo, its content and the person of each face on it.
struct PersonsOnPhoto {
  std::string file;
  std::uint64_t content = 0;
  std::vector<int> persons;
};

class KnownFaces {
 public:
  /// Knows no photos and no persons.
  KnownFaces() = default;
  /// Reads the journal and the persons in `folder`. Throws UsageError naming an option in which `settings` differ from
  /// those of the journal, Error for files that evener didn't write.
  KnownFaces(const std::filesystem::path& folder, const nlohmann::json& settings);

  /// For a run that is to be replaced: reads only the persons in `folder`, so that they keep their numbers; no photo is
  /// known.
  static KnownFaces who_was_who(const std::filesystem::path& folder);

  /// The photo of that content; nullptr where it isn't known.
  const PhotoFaces* find(std::uint64_t content) const;
  /// The person of each face on a photo, numbered from 0; -1 = a face that is like no other. Empty where the photo's
  /// persons were never written.
  std::vector<int> persons(std::uint64_t content) const;
  /// The first number that no person has had.
  int first_new_person() const { return first_new_person_; }
  /// Files of the last run whose content is not among `contents` any more.
  std::vector<std::string> vanished(const std::vector<std::optional<std::uint64_t>>& contents) const;
  /// Notes of the run that found the faces, such as that the embedder's weights were random.
  const std::vector<std::string>& notes() const { return notes_; }
  /// The probability of a sure face, of the detector that found them (FounderRule).
  float sure() const { return sure_; }
  /// The length of the journal, see read_journal().
  std::uint64_t whole_bytes() const { return whole_bytes_; }

 private:
  void read_persons(const std::filesystem::path& path);

  std::map<std::uint64_t, PhotoFaces> photos_;
  std::map<std::uint64_t, PersonsOnPhoto> told_;  // by content
  std::vector<std::string> notes_;
  float sure_ = kUsuallySure;
  int first_new_person_ = 0;
  std::uint64_t whole_bytes_ = 0;
};

/// Writes the persons on each photo for the next run. `first_new_person`: see KnownFaces.
void write_persons(const std::filesystem::path& folder, const std::vector<PersonsOnPhoto>& photos,
                   int first_new_person);
/// Removes the persons that `folder` remembers.
void forget_persons(const std::filesystem::path& folder);

// The names of the persons that `evener faces` has found: names.csv in a run's folder, which users edit.

/// The path of names.csv in the folder.
std::filesystem::path names_file(const std::filesystem::path& folder);

class PersonNames {
 public:
  /// No person has a name.
  PersonNames() = default;
  /// Reads names.csv in `folder`, if there is one: lines of a person's number, from 1, and a name, separated by a
  /// comma, semicolon or tab. Throws Error naming a line that is not of this form.
  explicit PersonNames(const std::filesystem::path& folder);

  bool empty() const { return names_.empty(); }
  /// Names by the persons' numbers, also of persons who no longer exist.
  const std::map<int, std::string>& all() const { return names_; }
  /// The name of a person, numbered from 0; "" where there is none.
  const std::string& of(int person) const;

  /// Lets names follow their faces: each name goes to the person who `now` has most of the faces that the named person
  /// had `before`. Both have the person of each face, -1 = none. Names whose persons no longer exist stay with their
  /// numbers. Returns notes on names that found no person.
  std::vector<std::string> follow(const std::vector<int>& before, const std::vector<int>& now);

  /// Writes names.csv with a line for each of `persons`, so that users only have to fill in names, and one for each
  /// name.
  void write(const std::filesystem::path& folder, const std::set<int>& persons) const;

 private:
  std::map<int, std::string> names_;
};

// The faces that a user has excluded from all persons, by apart.csv in a run's folder, which the user writes.

class FacesApart {
 public:
  /// Reads apart.csv in `folder`, if there is one: lines that begin as those of faces.csv, with a photo and the number
  /// of a face on it. Throws Error naming a line that doesn't.
  explicit FacesApart(const std::filesystem::path& folder);

  /// Whether the face is excluded. `file`: as in faces.csv; a line of apart.csv may have the name alone, without
  /// folders.
  bool contains(const std::string& file, std::size_t face);
  /// Notes on lines whose faces contains() was never called with, and so don't exist.
  std::vector<std::string> notes() const;

 private:
  struct Line {
    std::string file;
    std::size_t face = 0;
    bool is_found = false;
  };
  std::vector<Line> lines_;
};

}  // namespace evener::faces
