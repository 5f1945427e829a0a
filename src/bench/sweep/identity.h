// What a result belongs to besides its options: which program, which data, which machine. Where one of them has
// changed, results are not mixed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace evener::bench {

/// Of this program's files as they are on the disk now: the program, its library and its modules.
std::string program_identity();

/// Whether the files of the program look as they did when this was made: their sizes and times. Cheap.
class ProgramWatch {
 public:
  ProgramWatch();
  bool has_changed() const;

 private:
  std::string seen_;
};

/// Processor, cores, memory and system of this machine.
std::string machine_identity();

/// Of the files and folders that words of a command line name ("--data=photos/", "a.jpg"): their names, sizes and
/// times; of a run's folder only its networks and its record. "" where they name none.
std::string data_identity(const std::vector<std::string>& words);

/// A short name for a text, the same each time: 16 hexadecimal digits.
std::string short_hash(const std::string& text);

}  // namespace evener::bench
