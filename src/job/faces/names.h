// The names of the persons that `evener faces` has found: names.csv in a run's folder, which users edit.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace evener::job {

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

}  // namespace evener::job
