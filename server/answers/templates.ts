// The shapes of the addresses, for clients that let a person fill them in.

export const resourceTemplates = [
  {
    uriTemplate: 'skill://{library}',
    name: 'library',
    title: 'Index of a library or group',
    description: 'Every skill of a library, or of a group of skills, with its address and what it is for.',
    mimeType: 'text/markdown',
  },
  {
    uriTemplate: 'skill://{library}/{skill}',
    name: 'skill',
    title: 'Instructions of a skill',
    description: "A skill's instructions; append `/_manifest` for the list of its files.",
    mimeType: 'text/markdown',
  },
  {
    uriTemplate: 'skill://{library}/{skill}/{+path}',
    name: 'skill-file',
    title: 'File of a skill',
    description: 'One of the files that a skill ships.',
  },
];
