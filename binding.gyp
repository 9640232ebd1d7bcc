{
  'target_defaults': {
    'cflags_cc': ['-std=c++20', '-Wall', '-Wextra', '-O3', '-fvisibility=hidden', '-pthread'],
    'cflags_cc!': ['-fno-exceptions', '-fno-rtti', '-std=gnu++17', '-std=gnu++20', '-O2'],
    'cflags!': ['-fno-exceptions'],
    'ldflags': ['-pthread'],
    'include_dirs': ['native'],
    'xcode_settings': {
      'CLANG_CXX_LANGUAGE_STANDARD': 'c++20',
      'CLANG_CXX_LIBRARY': 'libc++',
      'GCC_ENABLE_CPP_EXCEPTIONS': 'YES',
      'GCC_ENABLE_CPP_RTTI': 'YES',
      'GCC_OPTIMIZATION_LEVEL': '3',
      'GCC_SYMBOLS_PRIVATE_EXTERN': 'YES',
      'MACOSX_DEPLOYMENT_TARGET': '12.0',
      'WARNING_CFLAGS': ['-Wall', '-Wextra'],
    },
  },
  'targets': [
    {
      # The kernels of one instruction set per library: only these files may be compiled beyond the base
      # architecture, and only native/engine/kernels.cc decides at run time which of them is called.
      'target_name': 'kernels_avx2',
      'type': 'static_library',
      'sources': ['native/engine/kernels_avx2.cc'],
      'conditions': [
        ['target_arch=="x64"', {
          'cflags_cc': ['-mavx2', '-mfma', '-msse4.2'],
          'xcode_settings': {'OTHER_CPLUSPLUSFLAGS': ['-mavx2', '-mfma', '-msse4.2']},
        }],
      ],
    },
    {
      'target_name': 'kernels_avx512',
      'type': 'static_library',
      'sources': ['native/engine/kernels_avx512.cc'],
      'conditions': [
        ['target_arch=="x64"', {
          'cflags_cc': ['-mavx512f', '-mavx512bw', '-mavx512vl', '-mavx512dq', '-mavx512vnni', '-mfma'],
          'xcode_settings': {'OTHER_CPLUSPLUSFLAGS': ['-mavx512f', '-mavx512bw', '-mavx512vl', '-mavx512dq', '-mavx512vnni', '-mfma']},
        }],
      ],
    },
    {
      'target_name': 'engine',
      'type': 'static_library',
      'dependencies': ['kernels_avx2', 'kernels_avx512'],
      'sources': [
        'native/engine/attributes.cc',
        'native/engine/checksum.cc',
        'native/engine/codes.cc',
        'native/engine/collection.cc',
        'native/engine/file.cc',
        'native/engine/filter.cc',
        'native/engine/graph.cc',
        'native/engine/kernels.cc',
        'native/engine/kernels_neon.cc',
        'native/engine/kernels_scalar.cc',
        'native/engine/lexical_search.cc',
        'native/engine/postings.cc',
        'native/engine/registry.cc',
        'native/engine/search.cc',
        'native/engine/search_request.cc',
        'native/engine/shard.cc',
        'native/engine/shard_view.cc',
        'native/engine/snapshot.cc',
        'native/engine/thread_pool.cc',
        'native/engine/vector_search.cc',
      ],
    },
    {
      'target_name': 'text',
      'type': 'static_library',
      # Fused multiplication and addition rounds once where two operations round twice: vectors would differ by machine.
      'cflags_cc': ['-ffp-contract=off'],
      'xcode_settings': {'OTHER_CPLUSPLUSFLAGS': ['-ffp-contract=off']},
      'sources': [
        'native/text/bert_tokenizer.cc',
        'native/text/piece_trie.cc',
        'native/text/plain_tokenizer.cc',
        'native/text/static_embedding.cc',
        'native/text/unicode.cc',
      ],
    },
    {
      'target_name': 'quarry',
      'include_dirs': ["<!@(node -p \"require('node-addon-api').include_dir\")"],
      'dependencies': ['engine', 'text'],
      'sources': [
        'native/bridge/addon.cc',
        'native/bridge/completions.cc',
        'native/bridge/text.cc',
        'native/bridge/values.cc',
      ],
      # The last one: a worker that is being terminated cannot be thrown at, and must not end the process for it.
      'defines': ['NAPI_VERSION=8', 'NAPI_CPP_EXCEPTIONS', 'NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS'],
    },
    {
      'target_name': 'engine_test',
      'type': 'executable',
      'dependencies': ['engine'],
      'include_dirs': ['test/native'],
      'sources': [
        'test/native/attributes_test.cc',
        'test/native/codes_test.cc',
        'test/native/collection_test.cc',
        'test/native/graph_test.cc',
        'test/native/kernels_test.cc',
        'test/native/load_test.cc',
        'test/native/main.cc',
        'test/native/postings_test.cc',
        'test/native/snapshot_test.cc',
      ],
    },
  ],
}
