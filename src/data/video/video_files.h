// Recognises videos and cameras, by names and by content.
#pragma once

#include <filesystem>
#include <string_view>

namespace evener::data {

/// True for the usual endings of videos: .mp4, .mov, .mkv, .avi, .webm, ...
bool has_video_extension(const std::filesystem::path& path);

/// Whether a file's first bytes (kVideoHeadBytes or all) are those of a video's container.
bool begins_as_video(std::string_view head);
inline constexpr std::size_t kVideoHeadBytes = 1024;

/// Whether a file that the user named is a video: by its content, or, where that is unknown, by its ending. False for
/// what can't be read.
bool is_video_file(const std::filesystem::path& path);

/// Whether a path is a camera (a character device) or a pipe, which gives frames as they come and can't be sought in.
bool is_live_source(const std::filesystem::path& path);

}  // namespace evener::data
