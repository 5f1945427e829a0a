// The programs ffmpeg and ffprobe, by which videos are read and written. They are child processes with limits of memory
// and time, since files are untrusted. They open nothing but the named file, whatever that names.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/child.h"

namespace evener::data {

/// Frames a second, where neither times nor a rate are told.
inline constexpr double kAssumedRate = 25;

/// Whether the programs are there: their version, such as "FFmpeg 5.1.9", or the reason why they can't be used.
struct FfmpegState {
  std::string version, reason;
};
FfmpegState ffmpeg_state();
/// Throws Error, telling what to install, where a program is missing.
void require_ffmpeg();

/// The words by which both programs open a file or a pipe with a video; the path is the last.
std::vector<std::string> source_words(const std::filesystem::path& path);

/// A command: the words of `options`, which have blanks between them; `source` as it is; and the words of `more`.
std::vector<std::string> command_words(const std::string& options, const std::vector<std::string>& source,
                                       const std::string& more = "");

/// What a program may hold that decodes pictures of so many pixels.
std::uint64_t decoding_memory(std::int64_t pixels);

/// The error that a line tells of what one of the programs writes under "-v level+error"; "" for none. Those of the
/// program itself, and not of FFmpeg's libraries, often only repeat the name of the file.
std::string error_of(const std::string& line, bool of_program = false);
/// The last error of several lines.
std::string last_error(const std::string& messages, bool of_program = false);

}  // namespace evener::data
