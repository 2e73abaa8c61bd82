// A process of the benchmark, from its own side: answers its parent's questions, and ends when the parent does.

export type Answer = { value: unknown } | { failure: string };

/** @param answer called with each question in turn */
export function answerQuestions<Question>(answer: (question: Question) => unknown): void {
  process.on('message', async (question: Question) => {
    process.send?.(await answered(answer, question));
  });
  process.on('disconnect', () => process.exit());
}

async function answered<Question>(answer: (question: Question) => unknown, question: Question): Promise<Answer> {
  try {
    return { value: await answer(question) };
  } catch (error) {
    return { failure: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}
